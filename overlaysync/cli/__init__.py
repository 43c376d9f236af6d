"""Floor 6: click commands, one file each: parse, call ``app``, render."""
