"""The binding of Weir's C interface: libweir.so through ctypes, arrays through NumPy's addresses.

`library` finds and loads libweir.so and declares its functions; `arguments` turns Python's values
into C's; `session` has the classes that `weir` shows.
"""
