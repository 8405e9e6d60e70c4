!list = !foreach.list<tensor<?xf32>>
fused.program @no_name(%x: !list) attributes {buffers = [#fused.buffer<"", temporary, !list>]} {
  fused.yield
}
