package tidy

import (
	"fmt"
	"math/big"
	"strconv"
	"time"
)

// cellText formats a value in the same way as the clean files.
func cellText(c Column, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case Unscaled:
		s := fmt.Sprintf("%0*d", c.Scale+1, max(v, -v))
		s = s[:len(s)-c.Scale] + "." + s[len(s)-c.Scale:]
		if v < 0 {
			s = "-" + s
		}
		return s
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case *big.Int:
		return v.String()
	case time.Time:
		switch c.Type {
		case Date:
			return v.Format("2006-01-02")
		case Clock:
			return v.Format("15:04:05.999999")
		case Zoned:
			return v.Format("2006-01-02T15:04:05.999999Z07:00")
		default:
			return v.Format("2006-01-02T15:04:05.999999")
		}
	default:
		return fmt.Sprint(v)
	}
}
