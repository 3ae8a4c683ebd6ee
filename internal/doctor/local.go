package doctor

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// remote returns the hosts that are not this machine: loopback addresses are left out. No name but localhost is looked
// up, because that alone tells others about it.
func remote(ctx context.Context, hosts []string) []string {
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
