/** Runs the service in this process until SIGINT or SIGTERM. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Service } from './app.ts';
import type { Config } from './config.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/embedded.ts';
import { forceExitSoon } from './lib/process/force-exit.ts';
import { releaseMemoryWhenSettled } from './lib/process/release-memory.ts';
import { createLineWriter } from './lib/telemetry/line-writer.ts';
import { createLog } from './lib/telemetry/log.ts';
import { currentTime } from './lib/time/clock.ts';
import { version } from './version.ts';

/** The exit itself, within the time that a stop may take. */
const exitMs = 500;

export async function serve(config: Config): Promise<void> {
  const lines = createLineWriter(process.stdout);
  process.on('exit', lines.flushSync);
  const log = createLog(config.logLevel, process.stdout.isTTY ? await prettyLines() : lines);
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'stopping after an uncaught exception');
    process.exit(1);
  });
  const signalReceived = waitForSignal();
  const launched = config.databaseUrl ? undefined : await launchDatabase(config, message => log.info(message));
  const service = await import('./app.ts')
    .then(({ startService }) => startService(config, log, launched?.opening))
    .catch(async error => {
      // Otherwise the database server that is starting would keep this process alive.
      await launched?.opening.then(database => database.release()).catch(() => {});
      throw error;
    });
  if (service.runtime.embedded) await welcome(service, config);
  releaseMemoryWhenSettled();

  const signal = await signalReceived;
  log.info(`received ${signal}: finishing work in flight`);
  const maxStopMs = config.stopTimeoutMs - exitMs;
  const overdue = setTimeout(() => {
    log.fatal(`did not stop within ${maxStopMs / 1_000} s: exiting now`);
    process.exit(1);
  }, maxStopMs);
  await service.stop();
  clearTimeout(overdue);
  log.info('stopped');
  forceExitSoon();
}

/** Resolves as soon as the database server is launched: it starts up while the rest of the program loads. */
async function launchDatabase(
  { dataDir }: Config,
  log: (message: string) => void,
): Promise<{ opening: Promise<EmbeddedDatabase> }> {
  const { promise: launched, resolve } = Promise.withResolvers<void>();
  const opening = openEmbedded({ dataDir, log, onLaunched: resolve });
  // Prevents an unhandled rejection: the caller awaits `opening` only later.
  opening.catch(() => resolve());
  await launched;
  return { opening };
}

/** Formats log lines for a terminal. */
async function prettyLines() {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ translateTime: 'HH:MM:ss.l', singleLine: true });
}

/** Listens from the beginning: Ctrl-C during the start stops the service as soon as it is up. */
function waitForSignal(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => resolve(signal));
    }
  });
}

/** Creates the demo in an empty embedded database, and prints how to try it. */
async function welcome({ runtime, address: own }: Service, { baseUrl, dataDir }: Config): Promise<void> {
  const { createDemo } = await import('./services/operations/demo/demo.ts');
  const demo = await createDemo(runtime.deps);
  if (!demo) return;
  const { createDemoHistory } = await import('./services/operations/demo/history.ts');
  await createDemoHistory(runtime.deps, currentTime());
  const { triggerDemoDay } = await import('./services/operations/demo/day.ts');
  await triggerDemoDay(runtime.deps);
  const address = baseUrl ?? own;
  const url = `${address}${demo.triggerPath}`;
  // Absolute, so the commands work in any folder, and in a shell without the same settings.
  const program = fileURLToPath(new URL('../bin/belfry.js', import.meta.url));
  const command = `BELFRY_DATA_DIR=${shellWord(path.resolve(dataDir))} ${shellWord(program)}`;
  console.log(`
  Belfry ${version} is running.

  Console     ${address}/
  Sign in     ${demo.signIn.email}
  Password    ${demo.signIn.password}
              (shown only once; reset it with: ${command} account reset-password --email ${demo.signIn.email})
  Reference   ${address}/docs
  Inbox demo  ${address}/inbox-demo
  API key     ${demo.key}
              (shown only once; create more with: ${command} key create --help)

  Trigger the demo event:

curl -X POST ${url} -H 'Authorization: Key ${demo.key}' -H 'Content-Type: application/json' -d '${demo.body}'

  Stop with Ctrl-C.
`);
}

/** Quotes the text if a shell would interpret it. */
function shellWord(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
