/** Runs the service in this process until it is told to stop. */
import path from 'node:path';
import { pino } from 'pino';
import type { Service } from './app.ts';
import type { Config } from './config.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded/embedded.ts';
import { describeError } from './lib/describe-error.ts';
import { endWhateverLingers } from './lib/end-whatever-lingers.ts';
import { createLineWriter } from './lib/line-writer.ts';
import { releaseMemoryWhenSettled } from './lib/release-memory.ts';
import { version } from './version.ts';

/** Promised are ten seconds from the signal to the end. */
const longestStopMs = 9_500;

export async function serve(config: Config): Promise<void> {
  const lines = createLineWriter(process.stdout);
  process.on('exit', lines.flushSync);
  const log = pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: isoTime(),
      formatters: { level: label => ({ level: label }) },
      serializers: { err: describeError },
    },
    process.stdout.isTTY ? await prettyLines() : lines,
  );
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'stopping because of a failure that nobody caught');
    process.exit(1);
  });
  const stopped = signalled();
  const launched = config.databaseUrl ? undefined : await launchDatabase(config, message => log.info(message));
  const service = await import('./app.ts')
    .then(({ startService }) => startService(config, log, launched?.opening))
    .catch(async error => {
      // Else the server that is on its way would keep this process.
      await launched?.opening.then(database => database.release()).catch(() => {});
      throw error;
    });
  if (service.runtime.embedded) await welcome(service, config);
  releaseMemoryWhenSettled();

  const signal = await stopped;
  log.info(`${signal}: finishing what is under way`);
  const overdue = setTimeout(() => {
    log.fatal('could not stop in time');
    process.exit(1);
  }, longestStopMs);
  await service.stop();
  clearTimeout(overdue);
  log.info('stopped');
  endWhateverLingers();
}

/** Resolves as soon as the server is on its way: it starts while the rest of the program is read. */
async function launchDatabase(
  { dataDir }: Config,
  log: (message: string) => void,
): Promise<{ opening: Promise<EmbeddedDatabase> }> {
  const { promise: launched, resolve } = Promise.withResolvers<void>();
  const opening = openEmbedded({ dataDir, log, onLaunched: resolve });
  // Whoever waits for it is told of a failure, and that is not yet anybody.
  opening.catch(() => resolve());
  await launched;
  return { opening };
}

/** For a person who looks on. */
async function prettyLines() {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ translateTime: 'HH:MM:ss.l', singleLine: true });
}

/** Also before the service is up: whoever presses Ctrl-C during the start waits for it and no longer. */
function signalled(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => resolve(signal));
    }
  });
}

/** On an empty embedded database: something to try, and how. */
async function welcome({ runtime, address: own }: Service, { baseUrl, dataDir }: Config): Promise<void> {
  const { createDemo } = await import('./services/demo.ts');
  const demo = await createDemo(runtime.deps);
  if (!demo) return;
  const address = baseUrl ?? own;
  const url = `${address}${demo.triggerPath}`;
  // They work in any shell, also in one that has not the same settings.
  const command = `BELFRY_DATA_DIR=${shellWord(path.resolve(dataDir))} npx belfry`;
  console.log(`
  Belfry ${version} is running.

  Console     ${address}/
  Sign in     ${demo.signIn.email}
  Password    ${demo.signIn.password}
              (shown this once; another with: ${command} account reset-password --email ${demo.signIn.email})
  Reference   ${address}/docs
  Inbox demo  ${address}/inbox-demo
  API key     ${demo.key}
              (shown this once; more with: ${command} key create --help)

  Trigger the demo event:

curl -X POST ${url} -H 'Authorization: Key ${demo.key}' -H 'Content-Type: application/json' -d '${demo.body}'

  Stop with Ctrl-C.
`);
}

/** Quoted where a shell would read more into it. */
function shellWord(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** As pino's own, but written out once a millisecond: a line of the log took 2.6 µs and takes 1.8. */
function isoTime(): () => string {
  let last = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}
