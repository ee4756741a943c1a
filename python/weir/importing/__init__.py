"""Reads the outputs of other benchmarks and makes run folders of them.

``recording`` has the types that all parsers share. ``ior``, ``mdtest``, ``fio``, ``elbencho`` and
``io500`` each read the output of one program and touch no file. ``recognition`` finds out which
programs wrote a file, and ``run_folders`` writes what was read as ordinary run folders.
"""
