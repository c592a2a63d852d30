"""Other methods on the same black boxes."""
