fused.program @nothing() {
  fused.yield
}
