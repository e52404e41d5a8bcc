// SPDX-License-Identifier: BSD-2-Clause

package main

type number interface{ ~int | ~float64 }

func largest[T number](all ...T) (most T) {
	for _, one := range all {
		if one > most {
			most = one
		}
	}
	return
}

func more() map[string]interface{} {
	return map[string]interface{}{"a": largest(1, 2), "b": largest(1.5, 2.5)}
}
