"""Binds Weir's C interface: calls libweir.so through ctypes with the addresses of NumPy arrays.

`library` finds and loads libweir.so and declares its functions. `arguments` converts Python values
to C values. `session`, `array_handle` and `step_file` contain the classes that `weir` exports.
"""
