package strictjson

import "strconv"

// Builder builds the JSON of an object. The caller appends its opening and closing braces. Each method adds a member
// or its name, after a comma if one is needed, and allocates only when the buffer grows.
type Builder []byte

// Name adds the name of a member. Its value follows.
func (o Builder) Name(name string) Builder {
	if last := o[len(o)-1]; last != '{' && last != ',' {
		o = append(o, ',')
	}
	o = append(append(o, '"'), name...)
	return append(o, `":`...)
}

// Text adds a string.
func (o Builder) Text(name, value string) Builder { return AppendString(o.Name(name), value) }

// Escaped adds a string that is escaped already.
func (o Builder) Escaped(name string, inside []byte) Builder {
	return append(append(append(o.Name(name), '"'), inside...), '"')
}

// Raw adds a value that is JSON on one line.
func (o Builder) Raw(name string, value []byte) Builder { return append(o.Name(name), value...) }

// Int adds a number.
func (o Builder) Int(name string, n int64) Builder { return strconv.AppendInt(o.Name(name), n, 10) }

// Bool adds a boolean.
func (o Builder) Bool(name string, value bool) Builder {
	return strconv.AppendBool(o.Name(name), value)
}
