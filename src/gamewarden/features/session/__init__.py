"""What the client messages of one play session say (Cornelissen 2008)."""
