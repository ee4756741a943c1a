"""Says which nodes of a machine share a switch or a way to the storage, from what is there.

Each source is a parser of text that was recorded on the machine, on this one a moment ago or
elsewhere earlier:

1. ``collect``, ``commands``  record the texts of each node, and those of the whole machine
2. ``recording``              the texts of a folder
3. one module per source      text to a finding, or why there is none
4. ``choice``                 the finding that is taken, and those that contradict it
5. ``description``            the description of the platform; ``shown`` prints everything
"""
