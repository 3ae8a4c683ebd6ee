package mariatest

import (
	"context"
	"database/sql/driver"

	"github.com/go-sql-driver/mysql"
)

// connector opens connections of a configuration, whose errors only show then.
type connector struct{ config *mysql.Config }

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := mysql.NewConnector(c.config)
	if err != nil {
		return nil, err
	}
	return inner.Connect(ctx)
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return &mysql.MySQLDriver{} }
