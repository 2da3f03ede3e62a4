/** Long enough to close what is being closed. */
const momentMs = 250;

/**
 * After everything was let go of, ends the process, in a thread that thread, unless it ends by itself: OpenTelemetry's exporter
 * goes on trying for seconds to reach a collector that is gone, and cannot be told not to.
 */
export function endWhateverLingers(): void {
  setTimeout(() => process.exit(), momentMs).unref();
}
