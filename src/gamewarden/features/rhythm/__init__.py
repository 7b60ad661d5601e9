"""When an account plays, and how evenly: hours, nights, gaps between actions, and what comes back in a fixed period."""
