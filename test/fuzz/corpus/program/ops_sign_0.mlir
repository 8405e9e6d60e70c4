func.func @sign(%x: f32, %y: f64) -> (f32, f64) {
  %a = foreach.sign %x : f32
  %b = foreach.sign %y : f64
  return %a, %b : f32, f64
}
