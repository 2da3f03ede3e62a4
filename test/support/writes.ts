/**
 * A valid request for every route that changes something, by operation id. The audit log is checked against this table,
 * and a missing route fails the suite.
 */
import { newEmail } from './api-table.ts';
import type { Tenants } from './tenants.ts';

export interface Write {
  /** Returns a valid body. */
  body?: () => unknown;
  /** Path parameters that differ from the defaults. */
  params?: (tenants: Tenants) => Record<string, string>;
  /** Including the question mark. */
  query?: string;
  headers?: Record<string, string>;
  /** Expected action of the audit entry. */
  action: string;
  noun: string;
}

/** What a test serves: the address of an iCalendar file. */
export const served = { calendar: '' };

/** Writes without an audit entry, with the reason. */
export const unaudited: Record<string, string> = {
  triggerEvent: 'the occurrence itself is the record, with the key and the context',
  uploadAttachment: 'has no effect until a trigger uses it, and the occurrence records that',
  updateLimits: 'not possible with a key: organization-limits.test.ts',
  simulateEvent: 'changes nothing',
  createRecipientToken: 'changes nothing: the token is signed, not kept',
  previewMessage: 'changes nothing',
  previewPreferencePage: 'changes nothing',
  createPreferenceLink: 'changes nothing: the link is signed, not kept',
  previewSilence: 'changes nothing',
  previewShifts: 'changes nothing',
  previewAbsenceCalendar: 'changes nothing',
  previewRetries: 'changes nothing',
  previewCause: 'changes nothing',
  previewSource: 'changes nothing',
  retryCause: 'of a cause without deliveries, changes nothing: failures.test.ts',
  planConfiguration: 'changes nothing',
  listPlannedGaps: 'changes nothing',
  seeInbox: 'a user reading: the message keeps its own times',
  seeMessage: 'a user reading: the message keeps its own times',
  actOnMessage: 'the message keeps it, and so does the occurrence that it triggers',
  readInbox: 'a user reading: the message keeps its own times',
  readMessage: 'a user reading: the message keeps its own times',
  unreadMessage: 'a user reading: the message keeps its own times',
  signIn: 'not possible with a key: accounts-audit.test.ts',
  updateSession: 'not possible with a key: accounts-audit.test.ts',
  signOut: 'not possible with a key: accounts-audit.test.ts',
  changePassword: 'not possible with a key: accounts-audit.test.ts',
  finishSignIn: 'not possible with a key: accounts-two-factor.test.ts',
  beginPasskeySignIn: 'changes nothing',
  signInWithPasskey: 'not possible with a key: accounts-passkeys.test.ts',
  confirmSession: 'changes nothing but for how long the session is trusted',
  endOtherSessions: 'not possible with a key: accounts-sessions.test.ts',
  endSession: 'not possible with a key: accounts-sessions.test.ts',
  beginTotp: 'changes nothing',
  confirmTotp: 'not possible with a key: accounts-two-factor.test.ts',
  removeTotp: 'not possible with a key: accounts-two-factor.test.ts',
  beginPasskey: 'changes nothing',
  addPasskey: 'not possible with a key: accounts-passkeys.test.ts',
  updatePasskey: 'not possible with a key: accounts-passkeys.test.ts',
  removePasskey: 'not possible with a key: accounts-passkeys.test.ts',
  renewRecoveryCodes: 'not possible with a key: accounts-two-factor.test.ts',
  requestPasswordReset: 'not possible with a key: accounts-mail.test.ts',
  resetPassword: 'not possible with a key: accounts-mail.test.ts',
  acceptInvite: 'not possible with a key: accounts-audit.test.ts',
  createOrganization: 'not possible with a key: accounts-audit.test.ts',
  registerOwnBrowser: 'not possible with a key: me.test.ts',
  unregisterOwnBrowser: 'not possible with a key: me.test.ts',
  testOwnBrowser: 'not possible with a key: me.test.ts',
  snoozeOccurrence: 'of an occurrence without steps, is refused: rounds.test.ts',
  unacknowledgeOccurrence: 'of an occurrence that is not acknowledged, changes nothing: rounds.test.ts',
  approveHold: 'of an occurrence that was not held, changes nothing: approvals.test.ts',
  rejectHold: 'of an occurrence that was not held, changes nothing: approvals.test.ts',
  sendVerification: 'to an address that no channel reaches, is refused: verification.test.ts',
  confirmVerification: 'without a code that was sent, is refused: verification.test.ts',
  enableWebhook: 'of one that is not disabled, changes nothing: webhooks-sending.test.ts',
  archiveMessage: 'a user reading: the message keeps its own times',
  unarchiveMessage: 'a user reading: the message keeps its own times',
};

let count = 0;

/** A delivery of an occurrence that does not exist. */
const nothingSelected = { deliveries: [{ occurrence: '00000000-0000-7000-8000-000000000000', id: 1 }] };

const newNotification = () => ({
  name: `new ${++count}`,
  recipients: { trigger: true },
  channels: ['mail'],
  message: { body: 'Hello' },
});
const newLayout = () => ({ name: `new ${++count}`, body: '<p>{{ content }}</p>' });
const newSchedule = {
  name: 'New',
  timezone: 'UTC',
  layers: [{ name: 'week', every: '1w', from: '2027-01-04T09:00', users: ['jane@acme.test'] }],
};

const newWebhook = () => ({
  slug: `new-${++count}`,
  name: 'New',
  url: 'https://acme.test/hook',
  types: ['delivery.failed'],
});
const newChannel = () => ({ slug: `new-${++count}`, name: 'New', type: 'email', providers: [{ use: 'sandbox' }] });

const device = { platform: 'ios', app: 'com.acme.shop', token: 'ab'.repeat(32) };

export const writes: Record<string, Write> = {
  createUser: { body: () => ({ email: newEmail() }), action: 'create', noun: 'user' },
  requireTwoFactor: { body: () => ({ required: true }), action: 'update', noun: 'organization' },
  putUser: { body: () => ({ first_name: `Jane ${++count}` }), action: 'update', noun: 'user' },
  updateUser: { body: () => ({ first_name: `Jane ${++count}` }), action: 'update', noun: 'user' },
  addUserAddress: { body: () => ({ name: 'pager', value: `number ${++count}` }), action: 'create', noun: 'address' },
  registerPush: {
    body: () => ({
      endpoint: `https://push.test/${++count}`,
      keys: {
        p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
        auth: 'AAAAAAAAAAAAAAAAAAAAAA',
      },
    }),
    action: 'create',
    noun: 'address',
  },
  registerDevice: { body: () => device, action: 'create', noun: 'address' },
  unregisterDevice: { body: () => device, action: 'delete', noun: 'address' },
  updateProfile: { body: () => ({ first_name: `Jane ${++count}`, locale: 'pt-br' }), action: 'update', noun: 'user' },
  updateAddress: { body: () => ({ enabled: false }), action: 'update', noun: 'address' },
  deleteAddress: { action: 'delete', noun: 'address' },
  deleteUser: { params: () => ({ username: 'joe@acme.test' }), action: 'delete', noun: 'user' },
  createProject: { body: () => ({ slug: `new-${++count}`, name: 'New' }), action: 'create', noun: 'project' },
  updateProject: { body: () => ({ name: `Shop ${++count}` }), action: 'update', noun: 'project' },
  createApplication: { body: () => ({ slug: `new-${++count}`, name: 'New' }), action: 'create', noun: 'application' },
  updateApplication: { body: () => ({ name: `Web ${++count}` }), action: 'update', noun: 'application' },
  createEvent: { body: () => ({ slug: `new-${++count}`, name: 'New' }), action: 'create', noun: 'event' },
  updateEvent: { body: () => ({ name: `Paid ${++count}` }), action: 'update', noun: 'event' },
  createOrganizationChannel: { body: () => newChannel(), action: 'create', noun: 'channel' },
  createProjectChannel: { body: () => newChannel(), action: 'create', noun: 'channel' },
  updateOrganizationChannel: { body: () => ({ name: `Relay ${++count}` }), action: 'update', noun: 'channel' },
  updateProjectChannel: { body: () => ({ name: `Relay ${++count}` }), action: 'update', noun: 'channel' },
  createNotification: { body: () => newNotification(), action: 'create', noun: 'notification' },
  updateNotification: { body: () => ({ name: `receipt ${++count}` }), action: 'update', noun: 'notification' },
  writeMessage: { body: () => ({ message: { body: `Text ${++count}` } }), action: 'update', noun: 'notification' },
  testOrganizationChannel: { body: () => ({}), action: 'test', noun: 'channel' },
  testProjectChannel: { body: () => ({}), action: 'test', noun: 'channel' },
  testNotification: { body: () => ({ channel: 'mail', to: 'a@acme.test' }), action: 'test', noun: 'notification' },
  createOrganizationLayout: { body: () => newLayout(), action: 'create', noun: 'layout' },
  createProjectLayout: { body: () => newLayout(), action: 'create', noun: 'layout' },
  updateOrganizationLayout: { body: () => ({ name: `Frame ${++count}` }), action: 'update', noun: 'layout' },
  updateProjectLayout: { body: () => ({ body: `${++count} {{ content }}` }), action: 'update', noun: 'layout' },
  updateOrganization: { body: () => ({ name: `Acme ${++count}` }), action: 'update', noun: 'organization' },
  deleteNotification: { action: 'delete', noun: 'notification' },
  deleteOrganizationLayout: { action: 'delete', noun: 'layout' },
  deleteProjectLayout: { action: 'delete', noun: 'layout' },
  deleteOrganizationChannel: { action: 'delete', noun: 'channel' },
  deleteProjectChannel: { action: 'delete', noun: 'channel' },
  deleteEvent: { action: 'delete', noun: 'event', params: () => ({ evt: 'order-lost' }) },
  deleteApplication: { action: 'delete', noun: 'application', params: () => ({ app: 'spare' }) },
  deleteProject: { action: 'delete', noun: 'project', params: () => ({ prj: 'spare' }) },
  deleteOrganization: { action: 'delete', noun: 'organization', query: '?cascade=true' },
  createSilence: {
    body: () => ({ path: 'shop', reason: 'maintenance', duration: '1h' }),
    action: 'create',
    noun: 'silence',
  },
  endSilence: { action: 'end', noun: 'silence' },
  cancelOccurrence: { action: 'cancel', noun: 'occurrence' },
  replayOccurrence: { action: 'replay', noun: 'occurrence' },
  acknowledgeOccurrence: {
    params: ({ acme }) => ({ identifier: acme.occurrences[1]!.id }),
    action: 'acknowledge',
    noun: 'occurrence',
  },
  resolveOccurrence: {
    params: ({ acme }) => ({ identifier: acme.occurrences[1]!.id }),
    action: 'resolve',
    noun: 'occurrence',
  },
  retryDelivery: {
    params: ({ acme }) => ({
      identifier: acme.occurrences[1]!.id,
      delivery: String(acme.occurrences[1]!.deliveryId),
    }),
    action: 'retry',
    noun: 'delivery',
  },
  retryDeliveries: { body: () => nothingSelected, action: 'retry', noun: 'delivery' },
  cancelDeliveries: { body: () => nothingSelected, action: 'cancel', noun: 'delivery' },
  createCategory: { body: () => ({ slug: `new-${++count}`, name: 'New' }), action: 'create', noun: 'category' },
  updateCategory: { body: () => ({ name: `News ${++count}` }), action: 'update', noun: 'category' },
  deleteCategory: { action: 'delete', noun: 'category' },
  updatePreferences: {
    body: () => ({ preferences: [{ category: 'general', enabled: false }] }),
    action: 'update',
    noun: 'preference',
  },
  createSource: {
    body: () => ({ slug: `new-${++count}`, name: 'New', use: 'grafana', routes: [{ event: 'order-paid' }] }),
    action: 'create',
    noun: 'source',
  },
  updateSource: { body: () => ({ name: `Prometheus ${++count}` }), action: 'update', noun: 'source' },
  deleteSource: { params: () => ({ source: 'spare' }), action: 'delete', noun: 'source' },
  rotateSourceToken: { action: 'update', noun: 'source' },
  replaySourcePayload: { action: 'replay', noun: 'source' },
  createSchedule: {
    body: () => ({ ...newSchedule, slug: `new-${++count}` }),
    action: 'create',
    noun: 'schedule',
  },
  updateSchedule: { body: () => ({ name: `Primary ${++count}` }), action: 'update', noun: 'schedule' },
  deleteSchedule: { params: () => ({ schedule: 'spare' }), action: 'delete', noun: 'schedule' },
  createAbsence: {
    body: () => ({ starts_at: new Date().toISOString(), ends_at: new Date(Date.now() + 86_400_000).toISOString() }),
    action: 'create',
    noun: 'absence',
  },
  deleteAbsence: { action: 'delete', noun: 'absence' },
  createAbsenceCalendar: { body: () => ({ url: served.calendar }), action: 'create', noun: 'absence_calendar' },
  updateAbsenceCalendar: {
    body: () => ({ url: served.calendar, words: ['vacation'] }),
    action: 'update',
    noun: 'absence_calendar',
  },
  deleteAbsenceCalendar: { action: 'delete', noun: 'absence_calendar' },
  createSwap: {
    body: () => ({
      user: 'jane@acme.test',
      starts_at: new Date(Date.now() + 3_600_000).toISOString(),
      ends_at: new Date(Date.now() + 86_400_000).toISOString(),
    }),
    action: 'create',
    noun: 'swap',
  },
  acceptSwap: { body: () => ({ user: 'joe@acme.test' }), action: 'accept', noun: 'swap' },
  withdrawSwap: {
    params: ({ acme }) => ({ schedule: 'spare', swap: String(acme.swapIds[1]) }),
    action: 'withdraw',
    noun: 'swap',
  },
  rotateCalendar: { action: 'rotate', noun: 'calendar' },
  rotateUserCalendar: { action: 'rotate', noun: 'calendar' },
  sendTestPage: { action: 'send', noun: 'test_page' },
  pageSchedule: { body: () => ({ user: 'jane@acme.test', message: 'Smoke' }), action: 'page', noun: 'schedule' },
  createOverride: { body: () => ({ user: 'jane@acme.test', duration: '2h' }), action: 'create', noun: 'override' },
  endOverride: { action: 'end', noun: 'override' },
  createHeartbeat: {
    body: () => ({ slug: `new-${++count}`, name: 'New', every: '1d', event: 'order-paid' }),
    action: 'create',
    noun: 'heartbeat',
  },
  updateHeartbeat: { body: () => ({ name: `Backup ${++count}` }), action: 'update', noun: 'heartbeat' },
  deleteHeartbeat: { params: () => ({ heartbeat: 'spare' }), action: 'delete', noun: 'heartbeat' },
  rotateHeartbeatToken: { action: 'update', noun: 'heartbeat' },
  createWatch: {
    body: () => ({ slug: `new-${++count}`, event: 'order-paid', enabled: false }),
    action: 'create',
    noun: 'watch',
  },
  updateWatch: { body: () => ({ every: `${(++count % 50) + 2}m` }), action: 'update', noun: 'watch' },
  deleteWatch: { params: () => ({ watch: 'spare' }), action: 'delete', noun: 'watch' },
  createWebhook: { body: () => newWebhook(), action: 'create', noun: 'webhook' },
  updateWebhook: { body: () => ({ name: `Operations ${++count}` }), action: 'update', noun: 'webhook' },
  deleteWebhook: { params: () => ({ webhook: 'spare' }), action: 'delete', noun: 'webhook' },
  rotateWebhookSecret: { body: () => ({}), action: 'rotate', noun: 'webhook' },
  testWebhook: { action: 'test', noun: 'webhook' },
  resendWebhookMessage: { action: 'resend', noun: 'webhook' },
  revokeRecipientTokens: { action: 'revoke', noun: 'token' },
  registerUser: { body: () => ({ username: 'jane@acme.test' }), action: 'register', noun: 'user' },
  unregisterUser: { action: 'unregister', noun: 'user' },
  createDistributionList: { body: () => ({ name: `List ${++count}` }), action: 'create', noun: 'list' },
  addRecipients: { body: () => [newEmail()], action: 'add members', noun: 'list' },
  importMembers: {
    body: () => `email\n${newEmail()}\n`,
    headers: { 'content-type': 'text/csv' },
    action: 'import',
    noun: 'list',
  },
  updateDistributionList: { body: () => ({ name: `List ${++count}` }), action: 'update', noun: 'list' },
  updateMember: { body: () => ({ active: false }), action: 'update', noun: 'member' },
  deleteMember: { action: 'delete', noun: 'member' },
  deleteDistributionList: { query: '?cascade=true', action: 'delete', noun: 'list' },
  createSuppression: {
    body: () => ({ channel_type: 'email', target: newEmail() }),
    action: 'create',
    noun: 'suppression',
  },
  importSuppressions: {
    body: () => `target\n${newEmail()}\n`,
    headers: { 'content-type': 'text/csv' },
    action: 'import',
    noun: 'suppression',
  },
  deleteSuppression: { action: 'delete', noun: 'suppression' },
  createKey: {
    body: () => ({ name: `key ${++count}`, permissions: ['user:read'] }),
    action: 'create',
    noun: 'key',
  },
  revokeKey: { body: () => ({ key: 'acme shop' }), action: 'revoke', noun: 'key' },
  createInvite: { body: () => ({ email: newEmail(), role: 'viewer' }), action: 'create', noun: 'invite' },
  withdrawInvite: { action: 'delete', noun: 'invite' },
  updateAccount: { body: () => ({ role: 'editor' }), action: 'update', noun: 'account' },
  removeAccount: { action: 'remove', noun: 'account' },
  unlinkAccount: { action: 'unlink', noun: 'account' },
  updateKey: { body: () => ({ name: `key ${++count}` }), action: 'update', noun: 'key' },
  rotateKey: { body: () => ({ overlap: '1h' }), action: 'rotate', noun: 'key' },
  deleteKey: { params: ({ revokedKeyId }) => ({ key: revokedKeyId }), action: 'delete', noun: 'key' },
  pauseOrganizationChannel: { action: 'pause', noun: 'channel' },
  resumeOrganizationChannel: { action: 'resume', noun: 'channel' },
  pauseProjectChannel: { action: 'pause', noun: 'channel' },
  resumeProjectChannel: { action: 'resume', noun: 'channel' },
  pauseOrganization: { action: 'pause', noun: 'organization' },
  resumeOrganization: { action: 'resume', noun: 'organization' },
  pauseProject: { action: 'pause', noun: 'project' },
  resumeProject: { action: 'resume', noun: 'project' },
  pauseKey: { action: 'pause', noun: 'key' },
  resumeKey: { action: 'resume', noun: 'key' },
  pauseApplication: { action: 'pause', noun: 'application' },
  resumeApplication: { action: 'resume', noun: 'application' },
  pauseEvent: { action: 'pause', noun: 'event' },
  resumeEvent: { action: 'resume', noun: 'event' },
  applyConfiguration: {
    body: () => ({ organization: { slug: 'acme', name: `Acme ${++count}` } }),
    action: 'update',
    noun: 'organization',
  },
};
