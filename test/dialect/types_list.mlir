// RUN: %heddle_opt %s | %heddle_opt | FileCheck %s

// CHECK: !foreach.list<tensor<f64>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?x?xf16>>, !foreach.list<tensor<?xbf16>>
func.func private @floats(!foreach.list<tensor<f64>>, !foreach.list<tensor<?xf32>>, !foreach.list<tensor<?x?xf16>>,
                          !foreach.list<tensor<?xbf16>>)

// CHECK: !foreach.list<tensor<?xi1>>, !foreach.list<tensor<?xi8>>, !foreach.list<tensor<?xi16>>, !foreach.list<tensor<?xi32>>, !foreach.list<tensor<?xi64>>
func.func private @integers(!foreach.list<tensor<?xi1>>, !foreach.list<tensor<?xi8>>, !foreach.list<tensor<?xi16>>,
                            !foreach.list<tensor<?xi32>>, !foreach.list<tensor<?xi64>>)
