// Package confine restricts a process before it works on untrusted input: system calls, resources and new
// privileges. It confines the database engines and the commands of workspaces.
package confine
