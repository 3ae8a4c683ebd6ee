package doctor

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Scope says what doctor may contact.
type Scope struct {
	Online bool // servers on other machines, too
	// Hosts returns the hosts that opening the database at an address may contact, as its driver reads them from the
	// address and the environment.
	Hosts func(address string) []string
}

// Unchecked returns the line for a database that is not on this machine and may not be contacted, and whether it is
// one.
func (s Scope) Unchecked(ctx context.Context, what, address string) (Check, bool) {
	if s.Online {
		return Check{}, false
	}
	hosts := remote(ctx, s.Hosts(address))
	if len(hosts) == 0 {
		return Check{}, false
	}
	return Skip(what, "at "+strings.Join(hosts, ", ")+": not checked; doctor --online checks it"), true
}

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
