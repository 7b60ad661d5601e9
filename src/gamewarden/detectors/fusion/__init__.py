"""How much each detector's answer counts beside the others': a detector that is fed by scores."""
