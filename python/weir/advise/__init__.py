"""What a centre's expert would say of an unchanged program's metadata operations.

`records` reads what the processes left (`src/adapters/calls/record.hpp`), `use` merges it over the
ranks, `rules` finds what is wrong with it.
"""
