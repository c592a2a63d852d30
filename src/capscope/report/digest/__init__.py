"""What a report says of a run, as plain values: the page shows them and works nothing out."""
