// RUN: %heddle_opt --verify-diagnostics --split-input-file %s

// expected-error@+1 {{a list holds tensors of rank 0, 1 or 2, found 'tensor<?x?x?xf32>'; leading dimensions collapse when buffers are bound}}
func.func private @rank(!foreach.list<tensor<?x?x?xf32>>)

// -----

// expected-error@+1 {{expected tensors without an encoding, found 'tensor<?xf32, "sparse">'}}
func.func private @encoding(!foreach.list<tensor<?xf32, "sparse">>)

// -----

// expected-error@+1 {{extents are bound at run time: write '?' for each, found 'tensor<?x4xf32>'}}
func.func private @extents(!foreach.list<tensor<?x4xf32>>)

// -----

// expected-error@+1 {{elements are f64, f32, f16, bf16 or integers of 1, 8, 16, 32 or 64 bits, found 'i7'}}
func.func private @integers(!foreach.list<tensor<?xi7>>)

// -----

// expected-error@+1 {{elements are f64, f32, f16, bf16 or integers of 1, 8, 16, 32 or 64 bits, found 'complex<f32>'}}
func.func private @complex(!foreach.list<tensor<?xcomplex<f32>>>)

// -----

// expected-error@+1 {{elements are f64, f32, f16, bf16 or integers of 1, 8, 16, 32 or 64 bits, found 'f8E4M3FN'}}
func.func private @small(!foreach.list<tensor<f8E4M3FN>>)

// -----

// expected-error@+1 {{found 'ui8'}}
func.func private @unsigned(!foreach.list<tensor<?xui8>>)

// -----

// expected-error@+2 {{invalid kind of type specified}}
// expected-error@+1 {{failed to parse Foreach_List parameter 'tensor'}}
func.func private @no_tensor(!foreach.list<f32>)
