package main

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// unchecked returns the line for a database that is not on this machine and may not be contacted, and whether it is
// one.
func unchecked(ctx context.Context, what, address string, online bool) (check, bool) {
	if online {
		return check{}, false
	}
	hosts := remoteHosts(ctx, address)
	if len(hosts) == 0 {
		return check{}, false
	}
	return check{what, stateSkip, "at " + strings.Join(hosts, ", ") + notChecked}, true
}

// remoteHosts returns the hosts that opening a database may dial, as its driver reads them from the address and the
// environment, without this machine: files, Unix sockets and loopback addresses. No name but localhost is looked up,
// because that alone tells others about it. An address that cannot be parsed is never dialed.
func remoteHosts(ctx context.Context, address string) []string {
	var hosts []string
	if engine, err := databases().Find(address); err == nil && engine.Hosts != nil {
		hosts = engine.Hosts(address)
	} else if opts, err := redis.ParseURL(address); err == nil && opts.Network != "unix" {
		host, _, err := net.SplitHostPort(opts.Addr)
		if err != nil {
			host = opts.Addr
		}
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.DeleteFunc(slices.Compact(hosts), func(host string) bool { return loopback(ctx, host) })
}

// loopback reports whether a host is a loopback address, or localhost with no other addresses.
func loopback(ctx context.Context, host string) bool {
	if !strings.EqualFold(host, "localhost") {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Unmap().IsLoopback()
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", "localhost")
	return err == nil && !slices.ContainsFunc(ips, func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() })
}
