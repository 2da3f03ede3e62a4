/** Time for connections that are being closed. */
const graceMs = 250;

/**
 * Ends the process (in a worker thread: the thread) soon after everything was closed, unless it ends on its own.
 * OpenTelemetry's exporter keeps retrying an unreachable collector for seconds, and cannot be stopped.
 */
export function forceExitSoon(): void {
  setTimeout(() => process.exit(), graceMs).unref();
}
