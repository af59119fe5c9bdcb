"""What offices publish today, as channels: `leakcap.disclosure.joint` weighs published cells together."""
