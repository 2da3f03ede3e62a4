/** Starts the listener for bounce mails and alerts (BELFRY_SMTP_IN) in its thread, and stores what mails report. */
import { Worker } from 'node:worker_threads';
import type { FastifyBaseLogger } from 'fastify';
import type {
  AlertMail,
  FromMailThread,
  MailThreadSettings,
  ReportMail,
  ToMailThread,
} from '../../core/feedback/mail-messages.ts';
import { FairSlots } from '../../lib/load/fair-slots.ts';
import type { Deps } from '../../services/deps.ts';
import { countFeedback } from '../../services/history/feedback/feedback.ts';
import { storeMailReport } from '../../services/history/feedback/requests.ts';
import { receiveLetter } from '../../services/history/sources/letters.ts';

/** Mails that are stored at once, in all and of one organization: each takes a connection that requests need too. */
const maxStoring = { all: 3, organization: 1 };
const memoryMb = 256;
const restartMs = 1_000;
/** Longer than the listener waits for its connections. */
const closeMs = 2_000;

export interface MailListener {
  port: number;
  close(): Promise<void>;
}

export async function listenForMails(
  deps: Deps,
  log: FastifyBaseLogger,
  settings: MailThreadSettings,
): Promise<MailListener> {
  const slots = new FairSlots(maxStoring.all, maxStoring.organization);
  let worker: Worker;
  let isClosing = false;

  const start = async (port: number): Promise<number> => {
    const thread = new Worker(new URL('../../providers/feedback/mail-thread.ts', import.meta.url), {
      workerData: { ...settings, port },
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    worker = thread;
    return new Promise((resolve, reject) => {
      thread.on('message', (message: FromMailThread) => {
        if (message.kind === 'listening') resolve(message.port);
        else if (message.kind === 'failed') reject(Object.assign(new Error(message.message), { code: message.code }));
        else if (message.kind === 'log') log.warn({ reason: message.reason }, message.message);
        else if (message.kind === 'ignored') countFeedback(deps, 'smtp', 'ignored');
        else if (message.kind === 'alert') void storeAlert(thread, message);
        else void store(thread, message);
      });
      thread.on('error', error => {
        log.error({ err: error }, 'the listener for bounce mails failed');
        reject(error);
      });
    });
  };

  async function store(thread: Worker, { id, origin, session, deliveries, events }: ReportMail): Promise<void> {
    const actor = { kind: 'visitor' as const, id: null, name: 'mail', origin, requestId: session };
    let isStored = false;
    try {
      for (const delivery of deliveries) {
        await slots.run(delivery.organizationId, () => storeMailReport({ ...deps, actor }, delivery, events));
      }
      isStored = true;
    } catch (error) {
      log.warn({ err: error }, 'a bounce mail could not be stored');
    }
    thread.postMessage({ kind: 'stored', id, isStored } satisfies ToMailThread);
  }

  async function storeAlert(thread: Worker, { id, source, letter, ...origin }: AlertMail): Promise<void> {
    const answer = await slots
      .run(source.organizationId, () => receiveLetter(deps, source, letter, origin))
      .then(
        refusal => ({ isStored: refusal === undefined, ...(refusal && { refusal }) }),
        error => {
          log.warn({ err: error }, 'a mail to a source could not be stored');
          return { isStored: false };
        },
      );
    thread.postMessage({ kind: 'stored', id, ...answer } satisfies ToMailThread);
  }

  const port = await start(settings.port);
  const restart = () => {
    if (isClosing) return;
    setTimeout(() => {
      if (isClosing) return;
      start(port)
        .catch(() => {})
        .finally(() => worker.once('exit', restart));
    }, restartMs).unref();
  };
  worker!.once('exit', restart);
  log.info(`bounce mails and alerts are received on ${settings.host}, port ${port}`);
  return {
    port,
    async close() {
      isClosing = true;
      const ended = new Promise(resolve => worker.once('exit', resolve));
      const timer = setTimeout(() => void worker.terminate(), closeMs);
      worker.postMessage({ kind: 'close' } satisfies ToMailThread);
      await ended;
      clearTimeout(timer);
    },
  };
}
