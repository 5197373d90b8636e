"""Forecast the traffic at a city's sensors, on one GPU."""
