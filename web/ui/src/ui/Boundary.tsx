import { Component, type ReactNode } from "react";
import { Button } from "./Button";

interface Props {
  children: ReactNode;
  /** Shown if the children fail. By default, a message and a button that reloads the page. */
  instead?: ReactNode;
  /** Changing this value renders the children again after a failure. */
  of?: unknown;
}

/** An error boundary: children that throw or cannot be loaded do not break the rest of the page. */
export class Boundary extends Component<Props, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override componentDidUpdate(before: Props) {
    if (this.state.broken && before.of !== this.props.of) this.setState({ broken: false });
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    if (this.props.instead !== undefined) return this.props.instead;
    return (
      <div role="alert" className="flex flex-col items-start gap-3 p-5 text-sm text-ink-soft">
        <p>This part of the page couldn't be shown. Your questions and answers are safe.</p>
        <Button icon="retry" onClick={() => location.reload()}>
          Reload the page
        </Button>
      </div>
    );
  }
}
