import { parseArgs } from 'node:util';
import { type Role, roles } from '../core/roles.ts';
import { createAccount, listAccounts, removeAccount, resetPassword, resetTwoFactor } from '../services/accounts.ts';
import { type Command, type Terminal, wrongUsage } from './command.ts';
import { formatTable } from './format.ts';

export const account: Command = {
  name: 'account',
  usage: 'create --email E | list | reset-password --email E | reset-two-factor --email E | remove --email E',
  summary: 'Creates, lists and removes the accounts of people who sign in.',
  details: `create          --email E [--name N] [--password-stdin]
                [--admin]                reaches every organization and may create them
                [--org O --role R]       a member of O; R is ${roles.join(', ')}
                Prints the password alone on standard output, unless it comes from standard input.
list            [--json]
reset-password  --email E [--password-stdin]
                Prints a new password and ends all sessions of the account.
reset-two-factor --email E
                For somebody who has lost phone, passkeys and recovery codes: removes them all and ends all
                sessions, so that the password alone signs in again.
remove          --email E                from every organization, for good

Works on the database, also while a server runs. People invite each other in the console.`,
  examples: [
    'belfry account create --email jane@acme.test --admin',
    'belfry account create --email joe@acme.test --org acme --role editor',
    'belfry account reset-password --email jane@acme.test',
    'belfry account reset-two-factor --email jane@acme.test',
  ],
  async run([action, ...args], terminal) {
    // Accounts are of the whole instance, and a key of one organization.
    if (terminal.config.url) throw wrongUsage('accounts are made on the database itself: unset BELFRY_URL');
    switch (action) {
      case 'create':
        return create(args, terminal);
      case 'list':
        return list(args, terminal);
      case 'reset-password':
        return reset(args, terminal);
      case 'reset-two-factor':
        return clearTwoFactor(args, terminal);
      case 'remove':
        return remove(args, terminal);
      default:
        throw wrongUsage(
          'say account create, list, reset-password, reset-two-factor or remove: see `belfry help account`',
        );
    }
  },
};

async function create(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      email: { type: 'string' },
      name: { type: 'string' },
      admin: { type: 'boolean' },
      org: { type: 'string' },
      role: { type: 'string' },
      'password-stdin': { type: 'boolean' },
    },
  });
  const { org, role } = values;
  if ((org === undefined) !== (role === undefined)) throw wrongUsage('--org and --role go together');
  if (role !== undefined && !isRole(role)) throw wrongUsage(`--role must be one of ${roles.join(', ')}`);
  const input = {
    email: emailOf(values.email),
    name: values.name?.trim().normalize('NFC'),
    admin: values.admin,
    membership: org !== undefined && role !== undefined ? { organization: org, role } : undefined,
    password: values['password-stdin'] ? await readPassword() : undefined,
  };
  const { password } = await terminal.withDeps(deps => createAccount(deps, input));
  if (input.password === undefined) terminal.print(password);
  else terminal.print(`Created ${input.email}.`);
  return 0;
}

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { json: { type: 'boolean' } } });
  const rows = await terminal.withDeps(listAccounts);
  if (values.json) terminal.print(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.print('There are no accounts yet: see `belfry help account`.');
  else
    terminal.print(
      formatTable([
        ['EMAIL', 'NAME', 'ADMIN', 'LAST SEEN', '2FA', 'ROLES'],
        ...rows.map(row => [
          row.email,
          row.name,
          row.admin ? 'yes' : '',
          row.last_seen_at?.toISOString().slice(0, 16).replace('T', ' ') ?? 'never',
          row.two_factor ? 'on' : 'off',
          row.roles.join(' '),
        ]),
      ]),
    );
  return 0;
}

async function reset(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { email: { type: 'string' }, 'password-stdin': { type: 'boolean' } },
  });
  const email = emailOf(values.email);
  const given = values['password-stdin'] ? await readPassword() : undefined;
  const password = await terminal.withDeps(deps => resetPassword(deps, email, given));
  terminal.print(given === undefined ? password : `Changed the password of ${email}.`);
  return 0;
}

async function clearTwoFactor(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { email: { type: 'string' } } });
  const email = emailOf(values.email);
  await terminal.withDeps(deps => resetTwoFactor(deps, email));
  terminal.print(`Removed the second factors of ${email}.`);
  return 0;
}

async function remove(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { email: { type: 'string' } } });
  const email = emailOf(values.email);
  await terminal.withDeps(deps => removeAccount(deps, email));
  terminal.print(`Removed ${email}.`);
  return 0;
}

function emailOf(email: string | undefined): string {
  if (!email) throw wrongUsage('--email is missing: see `belfry help account`');
  return email.trim();
}

function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

/** One line; what an editor or `echo` puts at its end is no part of it. */
async function readPassword(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text.replace(/\r?\n$/, '');
}
