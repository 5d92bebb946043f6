mod cases;
mod cost;
mod hostile;
mod random;
mod world;
