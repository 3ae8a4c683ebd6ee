// Package confine is what a process can give up before it works for somebody it
// does not trust: system calls, resources and new privileges. The engines of
// databases and the commands of workspaces are confined with it.
package confine
