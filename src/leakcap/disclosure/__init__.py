"""What offices publish today, as channels.

`cells` are the methods for one count, each with its exact law (`rounding`, `suppression`); `weighing` says
what one cell tells about a person; `joint` weighs cells that are published together.
"""
