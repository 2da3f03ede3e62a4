/** All commands, in the order of the help. Each module is loaded on demand, because `serve` needs no other command. */
import type { AppError } from '../core/errors.ts';
import { lookUp } from '../core/lookup.ts';
import { closestOf } from '../lib/closest.ts';
import { type Command, didYouMean, usageError } from './command.ts';

const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./serve.ts')).serve,
  migrate: async () => (await import('./migrate.ts')).migrate,
  apply: async () => (await import('./apply.ts')).apply,
  plan: async () => (await import('./plan.ts')).plan,
  export: async () => (await import('./export.ts')).exportCommand,
  import: async () => (await import('./import.ts')).importCommand,
  key: async () => (await import('./key.ts')).key,
  account: async () => (await import('./account.ts')).account,
  limits: async () => (await import('./limits.ts')).limits,
  webhook: async () => (await import('./webhook.ts')).webhook,
  channel: async () => (await import('./channel.ts')).channel,
  suppressions: async () => (await import('./suppressions.ts')).suppressions,
  secret: async () => (await import('./secret.ts')).secret,
  audit: async () => (await import('./audit.ts')).audit,
  trigger: async () => (await import('./trigger.ts')).trigger,
  simulate: async () => (await import('./simulate.ts')).simulate,
  occurrences: async () => (await import('./occurrences.ts')).occurrences,
  why: async () => (await import('./why.ts')).why,
  holds: async () => (await import('./holds.ts')).holds,
  approve: async () => (await import('./holds.ts')).approve,
  reject: async () => (await import('./holds.ts')).reject,
  heartbeats: async () => (await import('./heartbeats.ts')).heartbeats,
  silences: async () => (await import('./silences.ts')).silences,
  silence: async () => (await import('./silences.ts')).silence,
  incidents: async () => (await import('./incidents.ts')).incidents,
  'on-call': async () => (await import('./on-call.ts')).onCall,
  absence: async () => (await import('./absences.ts')).absence,
  swap: async () => (await import('./swaps.ts')).swap,
  report: async () => (await import('./report.ts')).report,
  cover: async () => (await import('./on-call.ts')).cover,
  page: async () => (await import('./on-call.ts')).page,
  acknowledge: async () => (await import('./respond.ts')).acknowledge,
  snooze: async () => (await import('./respond.ts')).snooze,
  unacknowledge: async () => (await import('./respond.ts')).unacknowledge,
  resolve: async () => (await import('./respond.ts')).resolve,
  types: async () => (await import('./types.ts')).types,
  feedback: async () => (await import('./feedback.ts')).feedback,
  outbox: async () => (await import('./outbox.ts')).outbox,
  backup: async () => (await import('./backup.ts')).backup,
  organization: async () => (await import('./organization.ts')).organization,
  pause: async () => (await import('./pause.ts')).pause,
  restore: async () => (await import('./restore.ts')).restore,
  resume: async () => (await import('./resume.ts')).resume,
  doctor: async () => (await import('./doctor.ts')).doctor,
  demo: async () => (await import('./demo.ts')).demo,
  completion: async () => (await import('./completion.ts')).createCompletion(loadCommands),
};

export async function findCommand(name: string): Promise<Command | undefined> {
  return lookUp(commands, name)?.();
}

export function loadCommands(): Promise<Command[]> {
  return Promise.all(Object.values(commands).map(load => load()));
}

export function unknownCommand(name: string): AppError {
  const meant = closestOf(name, Object.keys(commands));
  return usageError(`unknown command ${name}${didYouMean(meant)}: see \`belfry help\``);
}
