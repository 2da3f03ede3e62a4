/** An attachment cannot be fetched, or must not be sent. */
export class AttachmentError extends Error {
  /** Whether a later attempt may succeed. */
  readonly retry: boolean;

  constructor(message: string, retry: boolean) {
    super(message);
    this.retry = retry;
  }
}

/** The worker cannot load attachments now: it holds as many as it may. The message waits, and that costs no attempt. */
export class AttachmentsBusyError extends Error {
  constructor(message = 'the worker was busy with other attachments') {
    super(message);
  }
}
