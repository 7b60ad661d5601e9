"""What people see in a browser and programs ask for: pages and JSON over what `desk` reads and does."""
