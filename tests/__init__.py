"""The tests of Shunter; the folders mirror src/."""
