"""Stretches in which somebody suddenly plays as a clock does: pulses of a program in a person's day."""
