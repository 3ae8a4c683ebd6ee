import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Icon, type IconName } from "./Icon";

type Look = "primary" | "plain" | "quiet" | "danger";

const looks: Record<Look, string> = {
  primary: "bg-accent text-on-accent hover:bg-accent-strong disabled:bg-sunken disabled:text-ink-quiet",
  plain: "border bg-surface hover:bg-hover disabled:text-ink-quiet disabled:hover:bg-surface",
  quiet: "text-ink-soft hover:bg-hover hover:text-ink disabled:text-ink-quiet disabled:hover:bg-transparent",
  danger: "bg-bad-soft text-bad hover:underline",
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: IconName;
  children?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = "plain", icon, children, className = "", type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={`inline-flex h-9 items-center justify-center gap-2 rounded-md px-3 text-sm font-medium whitespace-nowrap ${looks[look]} ${className}`}
      {...rest}
    >
      {icon && <Icon name={icon} small />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<Props, "children"> {
  icon: IconName;
  /** What the button does. Read by screen readers and shown on hover. */
  label: string;
  small?: boolean;
  round?: boolean;
}

export function IconButton({
  icon,
  label,
  look = "quiet",
  small,
  round,
  className = "",
  type = "button",
  ...rest
}: IconButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      title={label}
      className={`inline-flex shrink-0 items-center justify-center ${round ? "rounded-full" : "rounded-md"} ${small ? "size-7" : "size-9"} ${looks[look]} ${className}`}
      {...rest}
    >
      <Icon name={icon} small={small} />
    </button>
  );
}
