/** All commands, in the groups and the order of the help. Each module is loaded on demand, because `serve` needs no other command. */
import type { AppError } from '../core/errors.ts';
import { lookUp } from '../core/lookup.ts';
import { closestOf } from '../lib/closest.ts';
import { type Command, didYouMean, usageError } from './command.ts';

type Commands = Record<string, () => Promise<Command>>;

const groups: Record<string, Commands> = {
  Run: {
    serve: async () => (await import('./serve.ts')).serve,
    migrate: async () => (await import('./migrate.ts')).migrate,
    demo: async () => (await import('./demo.ts')).demo,
    doctor: async () => (await import('./doctor.ts')).doctor,
    completion: async () => (await import('./completion.ts')).createCompletion(loadCommands),
  },
  Configure: {
    apply: async () => (await import('./apply.ts')).apply,
    plan: async () => (await import('./plan.ts')).plan,
    export: async () => (await import('./export.ts')).exportCommand,
    import: async () => (await import('./import.ts')).importCommand,
    types: async () => (await import('./types.ts')).types,
    limits: async () => (await import('./limits.ts')).limits,
    channel: async () => (await import('./channel.ts')).channel,
    webhook: async () => (await import('./webhook.ts')).webhook,
  },
  Access: {
    account: async () => (await import('./account.ts')).account,
    key: async () => (await import('./key.ts')).key,
    secret: async () => (await import('./secret.ts')).secret,
    audit: async () => (await import('./audit.ts')).audit,
  },
  Send: {
    trigger: async () => (await import('./trigger.ts')).trigger,
    simulate: async () => (await import('./simulate.ts')).simulate,
    occurrences: async () => (await import('./occurrences.ts')).occurrences,
    why: async () => (await import('./why.ts')).why,
    feedback: async () => (await import('./feedback.ts')).feedback,
    suppressions: async () => (await import('./suppressions.ts')).suppressions,
    outbox: async () => (await import('./outbox.ts')).outbox,
  },
  'Hold and stop': {
    holds: async () => (await import('./holds.ts')).holds,
    approve: async () => (await import('./holds.ts')).approve,
    reject: async () => (await import('./holds.ts')).reject,
    pause: async () => (await import('./pause.ts')).pause,
    resume: async () => (await import('./resume.ts')).resume,
  },
  Alerts: {
    incidents: async () => (await import('./incidents.ts')).incidents,
    acknowledge: async () => (await import('./respond.ts')).acknowledge,
    snooze: async () => (await import('./respond.ts')).snooze,
    unacknowledge: async () => (await import('./respond.ts')).unacknowledge,
    resolve: async () => (await import('./respond.ts')).resolve,
    silences: async () => (await import('./silences.ts')).silences,
    silence: async () => (await import('./silences.ts')).silence,
    heartbeats: async () => (await import('./heartbeats.ts')).heartbeats,
  },
  'On call': {
    'on-call': async () => (await import('./on-call.ts')).onCall,
    cover: async () => (await import('./on-call.ts')).cover,
    swap: async () => (await import('./swaps.ts')).swap,
    absence: async () => (await import('./absences.ts')).absence,
    page: async () => (await import('./on-call.ts')).page,
    report: async () => (await import('./report.ts')).report,
  },
  'Move and restore': {
    backup: async () => (await import('./backup.ts')).backup,
    restore: async () => (await import('./restore.ts')).restore,
    organization: async () => (await import('./organization.ts')).organization,
  },
};

const commands: Commands = Object.assign({}, ...Object.values(groups));

export async function findCommand(name: string): Promise<Command | undefined> {
  return lookUp(commands, name)?.();
}

export function loadCommands(): Promise<Command[]> {
  return loadAll(commands);
}

/** Returns the commands under the titles of their groups. */
export function loadGroups(): Promise<[title: string, commands: Command[]][]> {
  return Promise.all(
    Object.entries(groups).map(async ([title, some]): Promise<[string, Command[]]> => [title, await loadAll(some)]),
  );
}

function loadAll(some: Commands): Promise<Command[]> {
  return Promise.all(Object.values(some).map(load => load()));
}

export function unknownCommand(name: string): AppError {
  const meant = closestOf(name, Object.keys(commands));
  return usageError(`unknown command ${name}${didYouMean(meant)}: see \`belfry help\``);
}
