func.func @max_of_bytes(%a: !foreach.list<tensor<?xi8>>) -> !foreach.list<tensor<i8>> {
  %m = foreach.reduce max along i (%x = %a : !foreach.list<tensor<?xi8>>) -> !foreach.list<tensor<i8>> {
    foreach.yield %x : i8
  }
  return %m : !foreach.list<tensor<i8>>
}
