import { Component, type ReactNode } from "react";
import { Button } from "./Button";

interface Props {
  children: ReactNode;
  /** What is shown instead; without it, words and a way on. */
  instead?: ReactNode;
  /** Another one is another try. */
  of?: unknown;
}

/** Keeps what breaks, or cannot be loaded, from taking the page with it. */
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
        <p>This part of the page could not be shown. What you asked and were answered is kept.</p>
        <Button icon="retry" onClick={() => location.reload()}>
          Reload the page
        </Button>
      </div>
    );
  }
}
