/**
 * The whole API: method, path, permission and endpoint of every route. `public` routes need no credentials, `account`
 * routes need a signed-in account, and all others an API key or a role with the permission: see
 * core/identity/permissions.ts and core/identity/roles.ts. `entryRoutes` are the five alike routes of a configuration noun.
 */

import * as devices from './audience/devices.ts';
import * as distributionLists from './audience/distribution-lists.ts';
import * as inbox from './audience/inbox.ts';
import * as inboxPush from './audience/inbox-push.ts';
import * as inboxStream from './audience/inbox-stream.ts';
import * as listFiles from './audience/list-files.ts';
import * as me from './audience/me.ts';
import * as absenceCalendars from './audience/on-call/absence-calendars.ts';
import * as absences from './audience/on-call/absences.ts';
import * as feeds from './audience/on-call/feeds.ts';
import * as onCall from './audience/on-call/on-call.ts';
import * as overrides from './audience/on-call/overrides.ts';
import * as report from './audience/on-call/report.ts';
import * as schedules from './audience/on-call/schedules.ts';
import * as swaps from './audience/on-call/swaps.ts';
import * as testPages from './audience/on-call/test-pages.ts';
import * as preferencePreview from './audience/preference-preview.ts';
import * as preferences from './audience/preferences.ts';
import * as recipientTokens from './audience/recipient-tokens.ts';
import * as registrations from './audience/registrations.ts';
import * as suppressions from './audience/suppressions.ts';
import * as users from './audience/users.ts';
import * as verification from './audience/verification.ts';
import * as applications from './configuration/applications.ts';
import * as categories from './configuration/categories.ts';
import * as channels from './configuration/channels.ts';
import * as configuration from './configuration/declarative.ts';
import * as domainChecks from './configuration/domain-checks.ts';
import * as events from './configuration/events.ts';
import * as layouts from './configuration/layouts.ts';
import * as limits from './configuration/limits.ts';
import * as notifications from './configuration/notifications.ts';
import * as organizations from './configuration/organizations.ts';
import * as pausing from './configuration/pauses.ts';
import * as preview from './configuration/preview.ts';
import * as projects from './configuration/projects.ts';

import * as sources from './configuration/sources.ts';
import * as webhooks from './configuration/webhooks.ts';
import * as activity from './history/activity.ts';
import * as attachments from './history/attachments.ts';
import * as deliveries from './history/deliveries.ts';
import * as digests from './history/digests.ts';
import * as escalations from './history/escalations.ts';
import * as failures from './history/failures.ts';
import * as feedback from './history/feedback.ts';
import * as heartbeats from './history/heartbeats/heartbeats.ts';
import * as holds from './history/holds.ts';
import * as payloads from './history/ingress/payloads.ts';
import * as sourceUpdates from './history/ingress/updates.ts';
import * as levels from './history/levels/levels.ts';
import * as watches from './history/levels/watches.ts';
import * as messages from './history/messages.ts';
import * as occurrences from './history/occurrences.ts';
import * as pauses from './history/pauses.ts';
import * as silences from './history/silences/silences.ts';
import * as stats from './history/stats.ts';
import * as why from './history/why.ts';
import * as accounts from './identity/accounts.ts';
import * as invites from './identity/invites.ts';
import * as keys from './identity/keys.ts';
import * as oidc from './identity/oidc.ts';
import * as passwordResets from './identity/password-resets.ts';
import * as sessions from './identity/sessions.ts';
import * as twoFactor from './identity/two-factor.ts';
import * as audit from './operations/audit.ts';
import * as ping from './operations/ping.ts';
import { del, entryRoutes, get, patch, post, put, type Route } from './server/route.ts';

// biome-ignore format: one line for each route, however long
export const routes: readonly Route[] = [
  // The Bitcaster-compatible API, in the order of its specification
  get('/api/system/ping/', 'system:ping', ping.ping),
  get('/api/o/:org/', 'organization:read', organizations.retrieveOrganization),
  get('/api/o/:org/u/', 'user:read', users.listUsers),
  post('/api/o/:org/u/', 'user:write', users.createUser),
  get('/api/o/:org/u/:username/', 'user:read', users.retrieveUser),
  put('/api/o/:org/u/:username/', 'user:write', users.putUser),
  patch('/api/o/:org/u/:username/', 'user:write', users.updateUser),
  get('/api/o/:org/u/:username/address/', 'user:read', users.listUserAddresses),
  post('/api/o/:org/u/:username/address/', 'user:write', users.addUserAddress),
  get('/api/o/:org/p/', 'organization:read', projects.entry.list),
  get('/api/o/:org/p/:prj/', 'organization:read', projects.entry.retrieve),
  get('/api/o/:org/c/', 'organization:read', channels.ofOrganization.list),
  get('/api/o/:org/p/:prj/c/', 'organization:read', channels.ofProject.list),
  get('/api/o/:org/p/:prj/a/', 'organization:read', applications.entry.list),
  get('/api/o/:org/p/:prj/a/:app/e/', 'event:list', events.entry.list),
  post('/api/o/:org/p/:prj/a/:app/e/:evt/trigger/', 'event:trigger', events.triggerEvent),
  get('/api/o/:org/p/:prj/d/', 'distributionlist:read', distributionLists.listDistributionLists),
  post('/api/o/:org/p/:prj/d/', 'distributionlist:write', distributionLists.createDistributionList),
  get('/api/o/:org/p/:prj/d/:pk/', 'distributionlist:read', distributionLists.retrieveDistributionList),
  post('/api/o/:org/p/:prj/d/:pk/add/', 'distributionlist:write', distributionLists.addRecipients),
  get('/api/o/:org/p/:prj/d/:pk/m/', 'distributionlist:read', distributionLists.listMembers),

  // Organizations
  get('/api/o/', 'organization:read', organizations.listOrganizations),
  post('/api/o/', 'organization:create', organizations.createOrganization),
  patch('/api/o/:org/', 'organization:write', organizations.updateOrganization),
  del('/api/o/:org/', 'organization:delete', organizations.deleteOrganization),
  get('/api/o/:org/limits/', 'organization:read', limits.retrieveLimits),
  patch('/api/o/:org/limits/', 'limit:write', limits.updateLimits),
  get('/api/o/:org/settings/', 'organization:read', organizations.retrieveSettings),
  post('/api/o/:org/preference-page/preview/', 'organization:read', preferencePreview.previewPreferencePage),
  post('/api/o/:org/pause/', 'event:write', pausing.pauseOrganization),
  post('/api/o/:org/resume/', 'event:write', pausing.resumeOrganization),
  put('/api/o/:org/two-factor/', 'security:write', organizations.requireTwoFactor),

  // Projects and applications
  post('/api/o/:org/p/', 'organization:write', projects.entry.create),
  patch('/api/o/:org/p/:prj/', 'organization:write', projects.entry.update),
  del('/api/o/:org/p/:prj/', 'organization:write', projects.entry.delete),
  post('/api/o/:org/p/:prj/pause/', 'event:write', pausing.pauseProject),
  post('/api/o/:org/p/:prj/resume/', 'event:write', pausing.resumeProject),
  post('/api/o/:org/p/:prj/a/', 'organization:write', applications.entry.create),
  get('/api/o/:org/p/:prj/a/:app/', 'organization:read', applications.entry.retrieve),
  patch('/api/o/:org/p/:prj/a/:app/', 'organization:write', applications.entry.update),
  del('/api/o/:org/p/:prj/a/:app/', 'organization:write', applications.entry.delete),
  post('/api/o/:org/p/:prj/a/:app/register/', 'user:write', registrations.registerUser),
  post('/api/o/:org/p/:prj/a/:app/unregister/:username/', 'user:write', registrations.unregisterUser),
  post('/api/o/:org/p/:prj/a/:app/attachments/', 'event:trigger', attachments.uploadAttachment),
  post('/api/o/:org/p/:prj/a/:app/pause/', 'event:write', pausing.pauseApplication),
  post('/api/o/:org/p/:prj/a/:app/resume/', 'event:write', pausing.resumeApplication),

  // Events
  post('/api/o/:org/p/:prj/a/:app/e/', 'event:write', events.entry.create),
  get('/api/o/:org/p/:prj/a/:app/e/:evt/', 'event:list', events.entry.retrieve),
  patch('/api/o/:org/p/:prj/a/:app/e/:evt/', 'event:write', events.entry.update),
  del('/api/o/:org/p/:prj/a/:app/e/:evt/', 'event:write', events.entry.delete),
  post('/api/o/:org/p/:prj/a/:app/e/:evt/pause/', 'event:write', pausing.pauseEvent),
  post('/api/o/:org/p/:prj/a/:app/e/:evt/resume/', 'event:write', pausing.resumeEvent),
  get('/api/o/:org/p/:prj/a/:app/e/:evt/digests/', 'occurrence:read', digests.listDigests),
  post('/api/o/:org/p/:prj/a/:app/e/:evt/simulate/', 'event:trigger', events.simulateEvent),
  get('/api/o/:org/p/:prj/a/:app/e/:evt/waiting/', 'occurrence:read', events.retrieveWaiting),
  get('/api/o/:org/event/', 'event:list', events.listOrganizationEvents),

  // Categories
  ...entryRoutes('/api/o/:org/categories/', 'category', 'category', categories.entry),

  // Notifications and their messages
  ...entryRoutes('/api/o/:org/p/:prj/a/:app/e/:evt/n/', 'notification', 'notification', notifications.entry),
  put('/api/o/:org/p/:prj/a/:app/e/:evt/n/:notification/message/', 'template:write', notifications.writeMessage),
  post('/api/o/:org/p/:prj/a/:app/e/:evt/n/:notification/test/', 'event:trigger', notifications.testNotification),
  get('/api/o/:org/p/:prj/a/:app/e/:evt/n/:notification/versions/', 'template:read', notifications.listMessageVersions),
  get('/api/o/:org/p/:prj/a/:app/e/:evt/n/:notification/versions/:version/', 'template:read', notifications.retrieveMessageVersion),
  post('/api/o/:org/p/:prj/a/:app/e/:evt/preview/', 'template:read', preview.previewMessage),

  // Layouts
  ...entryRoutes('/api/o/:org/l/', 'layout', 'template', layouts.ofOrganization),
  get('/api/o/:org/l/:layout/versions/', 'template:read', layouts.listOrganizationLayoutVersions),
  get('/api/o/:org/l/:layout/versions/:version/', 'template:read', layouts.retrieveOrganizationLayoutVersion),
  ...entryRoutes('/api/o/:org/p/:prj/l/', 'layout', 'template', layouts.ofProject),
  get('/api/o/:org/p/:prj/l/:layout/versions/', 'template:read', layouts.listProjectLayoutVersions),
  get('/api/o/:org/p/:prj/l/:layout/versions/:version/', 'template:read', layouts.retrieveProjectLayoutVersion),

  // Channels
  post('/api/o/:org/c/', 'channel:write', channels.ofOrganization.create),
  get('/api/o/:org/c/:channel/', 'channel:read', channels.ofOrganization.retrieve),
  patch('/api/o/:org/c/:channel/', 'channel:write', channels.ofOrganization.update),
  del('/api/o/:org/c/:channel/', 'channel:write', channels.ofOrganization.delete),
  post('/api/o/:org/c/:channel/pause/', 'channel:write', pausing.pauseOrganizationChannel),
  post('/api/o/:org/c/:channel/resume/', 'channel:write', pausing.resumeOrganizationChannel),
  post('/api/o/:org/c/:channel/test/', 'channel:write', channels.testOrganizationChannel),
  get('/api/o/:org/c/:channel/domain/', 'channel:read', domainChecks.checkOrganizationChannelDomain),
  get('/api/o/:org/channel/', 'channel:read', channels.listChannelDetails),
  post('/api/o/:org/p/:prj/c/', 'channel:write', channels.ofProject.create),
  get('/api/o/:org/p/:prj/c/:channel/', 'channel:read', channels.ofProject.retrieve),
  patch('/api/o/:org/p/:prj/c/:channel/', 'channel:write', channels.ofProject.update),
  del('/api/o/:org/p/:prj/c/:channel/', 'channel:write', channels.ofProject.delete),
  post('/api/o/:org/p/:prj/c/:channel/pause/', 'channel:write', pausing.pauseProjectChannel),
  post('/api/o/:org/p/:prj/c/:channel/resume/', 'channel:write', pausing.resumeProjectChannel),
  post('/api/o/:org/p/:prj/c/:channel/test/', 'channel:write', channels.testProjectChannel),
  get('/api/o/:org/p/:prj/c/:channel/domain/', 'channel:read', domainChecks.checkProjectChannelDomain),
  get('/api/o/:org/provider/', 'channel:read', channels.listProviders),

  // Users
  del('/api/o/:org/u/:username/', 'user:write', users.deleteUser),
  get('/api/o/:org/u/:username/addresses/', 'user:read', users.listWholeAddresses),
  patch('/api/o/:org/u/:username/addresses/:address/', 'user:write', users.updateAddress),
  del('/api/o/:org/u/:username/addresses/:address/', 'user:write', users.deleteAddress),
  post('/api/o/:org/u/:username/addresses/:address/verification/', 'user:write', verification.sendVerification),
  post('/api/o/:org/u/:username/addresses/:address/verification/confirm/', 'user:write', verification.confirmVerification),
  get('/api/o/:org/u/:username/memberships/', 'user:read', users.listMemberships),
  get('/api/o/:org/u/:username/registrations/', 'user:read', registrations.listUserRegistrations),
  get('/api/o/:org/u/:username/profile/', 'user:read', users.retrieveProfile),
  patch('/api/o/:org/u/:username/profile/', 'user:write', users.updateProfile),

  // Preferences
  get('/api/o/:org/u/:username/preferences/', 'preference:read', preferences.retrievePreferences),
  patch('/api/o/:org/u/:username/preferences/', 'preference:write', preferences.updatePreferences),
  get('/api/o/:org/u/:username/preferences/effective/', 'preference:read', preferences.retrieveEffectivePreferences),
  get('/api/o/:org/u/:username/preferences/effective/categories/', 'preference:read', preferences.listEffectivePreferences),
  get('/api/o/:org/u/:username/preferences/history/', 'preference:read', preferences.listPreferenceHistory),
  post('/api/o/:org/u/:username/preferences/link/', 'token:write', recipientTokens.createPreferenceLink),
  post('/api/o/:org/u/:username/token/', 'token:write', recipientTokens.createRecipientToken),
  del('/api/o/:org/u/:username/token/', 'token:write', recipientTokens.revokeRecipientTokens),

  // Inbox
  get('/api/o/:org/u/:username/inbox/', 'inbox:read', inbox.listInbox),
  post('/api/o/:org/u/:username/inbox/read/', 'inbox:write', inbox.readInbox),
  post('/api/o/:org/u/:username/inbox/seen/', 'inbox:write', inbox.seeInbox),
  get('/api/o/:org/u/:username/inbox/unread/', 'inbox:read', inbox.countUnread),
  get('/api/o/:org/u/:username/inbox/counts/', 'inbox:read', inbox.retrieveInboxCounts),
  post('/api/o/:org/u/:username/inbox/devices/', 'inbox:write', devices.registerDevice),
  post('/api/o/:org/u/:username/inbox/devices/unregister/', 'inbox:write', devices.unregisterDevice),
  get('/api/o/:org/u/:username/inbox/push/', 'inbox:read', inboxPush.retrievePushKey),
  post('/api/o/:org/u/:username/inbox/push/', 'inbox:write', inboxPush.registerPush),
  get('/api/o/:org/u/:username/inbox/stream/', 'inbox:read', inboxStream.streamInbox),
  post('/api/o/:org/u/:username/inbox/:message/act/', 'inbox:write', inbox.actOnMessage),
  post('/api/o/:org/u/:username/inbox/:message/archive/', 'inbox:write', inbox.archiveMessage),
  post('/api/o/:org/u/:username/inbox/:message/read/', 'inbox:write', inbox.readMessage),
  post('/api/o/:org/u/:username/inbox/:message/seen/', 'inbox:write', inbox.seeMessage),
  post('/api/o/:org/u/:username/inbox/:message/unarchive/', 'inbox:write', inbox.unarchiveMessage),
  post('/api/o/:org/u/:username/inbox/:message/unread/', 'inbox:write', inbox.unreadMessage),

  // Distribution lists
  patch('/api/o/:org/p/:prj/d/:pk/', 'distributionlist:write', distributionLists.updateDistributionList),
  del('/api/o/:org/p/:prj/d/:pk/', 'distributionlist:write', distributionLists.deleteDistributionList),
  get('/api/o/:org/p/:prj/d/:pk/count/', 'distributionlist:read', distributionLists.countMembers),
  get('/api/o/:org/p/:prj/d/:pk/export/', 'distributionlist:read', listFiles.exportMembers),
  post('/api/o/:org/p/:prj/d/:pk/import/', 'distributionlist:write', listFiles.importMembers),
  patch('/api/o/:org/p/:prj/d/:pk/m/:member/', 'distributionlist:write', distributionLists.updateMember),
  del('/api/o/:org/p/:prj/d/:pk/m/:member/', 'distributionlist:write', distributionLists.deleteMember),
  get('/api/o/:org/p/:prj/d/:pk/members/', 'distributionlist:read', distributionLists.searchMembers),

  // Suppression list
  get('/api/o/:org/suppressions/', 'user:read', suppressions.listSuppressions),
  post('/api/o/:org/suppressions/', 'user:write', suppressions.createSuppression),
  get('/api/o/:org/suppressions/export/', 'user:read', suppressions.exportSuppressions),
  post('/api/o/:org/suppressions/import/', 'user:write', suppressions.importSuppressions),
  get('/api/o/:org/suppressions/:suppression/', 'user:read', suppressions.retrieveSuppression),
  del('/api/o/:org/suppressions/:suppression/', 'user:write', suppressions.deleteSuppression),

  // Occurrences and deliveries
  get('/api/o/:org/activity/', 'occurrence:read', activity.listActivity),
  post('/api/o/:org/activity/cancel/', 'occurrence:write', activity.cancelDeliveries),
  post('/api/o/:org/activity/retry/', 'occurrence:write', activity.retryDeliveries),
  post('/api/o/:org/activity/retry/preview/', 'occurrence:read', activity.previewRetries),
  get('/api/o/:org/feedback/', 'occurrence:read', feedback.listFeedback),
  get('/api/o/:org/feedback/unmatched/', 'occurrence:read', feedback.listUnmatchedFeedback),
  get('/api/o/:org/escalations/', 'occurrence:read', escalations.listEscalations),
  get('/api/o/:org/incidents/', 'occurrence:read', escalations.listIncidents),
  get('/api/o/:org/incidents/summary/', 'occurrence:read', escalations.summarizeIncidents),
  get('/api/o/:org/occurrence/:identifier/alerts/', 'occurrence:read', escalations.listOccurrenceAlerts),
  get('/api/o/:org/failures/', 'occurrence:read', deliveries.listFailures),
  get('/api/o/:org/failures/causes/', 'occurrence:read', failures.listFailureCauses),
  post('/api/o/:org/failures/retry/', 'occurrence:write', failures.retryCause),
  post('/api/o/:org/failures/retry/preview/', 'occurrence:read', failures.previewCause),
  get('/api/o/:org/occurrence/', 'occurrence:read', occurrences.listOccurrences),
  get('/api/o/:org/occurrence/:identifier/', 'occurrence:read', occurrences.retrieveOccurrence),
  post('/api/o/:org/occurrence/:identifier/acknowledge/', 'occurrence:write', occurrences.acknowledgeOccurrence),
  post('/api/o/:org/occurrence/:identifier/unacknowledge/', 'occurrence:write', occurrences.unacknowledgeOccurrence),
  post('/api/o/:org/occurrence/:identifier/snooze/', 'occurrence:write', occurrences.snoozeOccurrence),
  get('/api/o/:org/occurrence/:identifier/responses/', 'occurrence:read', occurrences.listResponses),
  post('/api/o/:org/occurrence/:identifier/cancel/', 'occurrence:write', occurrences.cancelOccurrence),
  get('/api/o/:org/occurrence/:identifier/hold/', 'occurrence:read', holds.retrieveHold),
  post('/api/o/:org/occurrence/:identifier/hold/approve/', 'occurrence:approve', holds.approveHold),
  post('/api/o/:org/occurrence/:identifier/hold/reject/', 'occurrence:approve', holds.rejectHold),
  get('/api/o/:org/occurrence/:identifier/attachments/', 'occurrence:read', attachments.listAttachments),
  get('/api/o/:org/occurrence/:identifier/attachments/:attachment/', 'occurrence:read', attachments.downloadAttachment),
  get('/api/o/:org/occurrence/:identifier/deliveries/', 'occurrence:read', occurrences.listDeliveries),
  get('/api/o/:org/occurrence/:identifier/deliveries/:delivery/', 'occurrence:read', deliveries.retrieveDelivery),
  get('/api/o/:org/occurrence/:identifier/deliveries/:delivery/message/', 'occurrence:read', messages.retrieveMessage),
  get('/api/o/:org/occurrence/:identifier/deliveries/:delivery/attempts/', 'occurrence:read', deliveries.listAttempts),
  get('/api/o/:org/occurrence/:identifier/deliveries/:delivery/feedback/', 'occurrence:read', feedback.listDeliveryFeedback),
  get('/api/o/:org/occurrence/:identifier/deliveries/:delivery/updates/', 'occurrence:read', deliveries.listDeliveryUpdates),
  get('/api/o/:org/occurrence/:identifier/deliveries/:delivery/retry/', 'occurrence:read', deliveries.previewRetry),
  post('/api/o/:org/occurrence/:identifier/deliveries/:delivery/retry/', 'occurrence:write', deliveries.retryDelivery),
  get('/api/o/:org/occurrence/:identifier/suppressed/', 'occurrence:read', occurrences.listSuppressedReasons),
  get('/api/o/:org/occurrence/:identifier/pauses/', 'occurrence:read', pauses.listOccurrencePauses),
  get('/api/o/:org/occurrence/:identifier/replay/', 'occurrence:read', occurrences.previewReplay),
  post('/api/o/:org/occurrence/:identifier/replay/', 'occurrence:write', occurrences.replayOccurrence),
  post('/api/o/:org/occurrence/:identifier/resolve/', 'occurrence:write', occurrences.resolveOccurrence),
  get('/api/o/:org/occurrence/:identifier/steps/', 'occurrence:read', occurrences.listSteps),
  get('/api/o/:org/occurrence/:identifier/why/', 'occurrence:read', why.explainOccurrence),
  get('/api/o/:org/holds/', 'occurrence:read', holds.listHolds),
  get('/api/o/:org/pauses/', 'occurrence:read', pauses.listPauses),
  get('/api/o/:org/sandbox/', 'occurrence:read', deliveries.listSandbox),
  get('/api/o/:org/u/:username/deliveries/', 'user:read', deliveries.listUserDeliveries),

  // Silences
  get('/api/o/:org/silences/', 'silence:read', silences.listSilences),
  post('/api/o/:org/silences/', 'silence:write', silences.createSilence),
  post('/api/o/:org/silences/preview/', 'silence:read', silences.previewSilence),
  get('/api/o/:org/silences/:silence/', 'silence:read', silences.retrieveSilence),
  post('/api/o/:org/silences/:silence/end/', 'silence:write', silences.endSilence),
  get('/api/o/:org/silences/:silence/occurrences/', 'silence:read', silences.listSilencedOccurrences),

  // Sources
  get('/api/o/:org/sources/', 'source:read', sources.listOrganizationSources),
  ...entryRoutes('/api/o/:org/p/:prj/a/:app/sources/', 'source', 'source', sources.entry),
  get('/api/o/:org/p/:prj/a/:app/sources/:source/address/', 'source:write', sources.retrieveSourceAddress),
  post('/api/o/:org/p/:prj/a/:app/sources/:source/rotate/', 'source:write', sources.rotateSourceToken),
  get('/api/o/:org/p/:prj/a/:app/sources/:source/setup/', 'source:write', sources.retrieveSourceSetup),
  post('/api/o/:org/p/:prj/a/:app/preview-source/', 'source:read', payloads.previewSource),
  get('/api/o/:org/p/:prj/a/:app/sources/:source/payloads/', 'source:read', payloads.listSourcePayloads),
  get('/api/o/:org/p/:prj/a/:app/sources/:source/payloads/:payload/', 'source:read', payloads.retrieveSourcePayload),
  post('/api/o/:org/p/:prj/a/:app/sources/:source/payloads/:payload/replay/', 'source:write', payloads.replaySourcePayload),
  get('/api/o/:org/p/:prj/a/:app/sources/:source/updates/', 'source:read', sourceUpdates.listSourceUpdates),
  get('/api/o/:org/occurrence/:identifier/source-updates/', 'occurrence:read', sourceUpdates.listOccurrenceSourceUpdates),

  // Heartbeats
  get('/api/o/:org/heartbeats/', 'source:read', heartbeats.listOrganizationHeartbeats),
  ...entryRoutes('/api/o/:org/p/:prj/a/:app/heartbeats/', 'heartbeat', 'source', heartbeats.entry),
  get('/api/o/:org/p/:prj/a/:app/heartbeats/:heartbeat/address/', 'source:write', heartbeats.retrieveHeartbeatAddress),
  post('/api/o/:org/p/:prj/a/:app/heartbeats/:heartbeat/rotate/', 'source:write', heartbeats.rotateHeartbeatToken),
  get('/api/o/:org/p/:prj/a/:app/heartbeats/:heartbeat/status/', 'source:read', heartbeats.retrieveHeartbeatStatus),
  get('/api/o/:org/p/:prj/a/:app/heartbeats/:heartbeat/calls/', 'source:read', heartbeats.listHeartbeatCalls),

  // Service levels
  get('/api/o/:org/service-levels/', 'occurrence:read', levels.retrieveServiceLevels),
  ...entryRoutes('/api/o/:org/p/:prj/a/:app/watches/', 'watch', 'source', watches.entry),

  // Schedules
  ...entryRoutes('/api/o/:org/p/:prj/schedules/', 'schedule', 'schedule', schedules.entry),
  post('/api/o/:org/p/:prj/shifts/preview/', 'schedule:read', onCall.previewShifts),
  get('/api/o/:org/p/:prj/schedules/:schedule/on-call/', 'schedule:read', onCall.retrieveOnCall),
  get('/api/o/:org/p/:prj/schedules/:schedule/shifts/', 'schedule:read', onCall.listShifts),
  get('/api/o/:org/p/:prj/schedules/:schedule/groups/', 'schedule:read', schedules.listScheduleGroups),
  get('/api/o/:org/p/:prj/schedules/:schedule/swaps/', 'schedule:read', swaps.listSwaps),
  post('/api/o/:org/p/:prj/schedules/:schedule/swaps/', 'schedule:override', swaps.createSwap),
  get('/api/o/:org/p/:prj/schedules/:schedule/swaps/:swap/', 'schedule:read', swaps.retrieveSwap),
  post('/api/o/:org/p/:prj/schedules/:schedule/swaps/:swap/accept/', 'schedule:override', swaps.acceptSwap),
  del('/api/o/:org/p/:prj/schedules/:schedule/swaps/:swap/', 'schedule:override', swaps.withdrawSwap),
  get('/api/o/:org/u/:username/absences/', 'user:read', absences.listAbsences),
  post('/api/o/:org/u/:username/absences/', 'user:write', absences.createAbsence),
  get('/api/o/:org/u/:username/absences/:absence/', 'user:read', absences.retrieveAbsence),
  del('/api/o/:org/u/:username/absences/:absence/', 'user:write', absences.deleteAbsence),
  get('/api/o/:org/u/:username/absence-calendars/', 'user:read', absenceCalendars.listAbsenceCalendars),
  post('/api/o/:org/u/:username/absence-calendars/', 'user:write', absenceCalendars.createAbsenceCalendar),
  post('/api/o/:org/u/:username/absence-calendars/preview/', 'user:write', absenceCalendars.previewAbsenceCalendar),
  get('/api/o/:org/u/:username/absence-calendars/:absence_calendar/', 'user:read', absenceCalendars.retrieveAbsenceCalendar),
  patch('/api/o/:org/u/:username/absence-calendars/:absence_calendar/', 'user:write', absenceCalendars.updateAbsenceCalendar),
  del('/api/o/:org/u/:username/absence-calendars/:absence_calendar/', 'user:write', absenceCalendars.deleteAbsenceCalendar),
  get('/api/o/:org/p/:prj/schedules/:schedule/overrides/', 'schedule:read', overrides.listOverrides),
  post('/api/o/:org/p/:prj/schedules/:schedule/overrides/', 'schedule:override', overrides.createOverride),
  get('/api/o/:org/p/:prj/schedules/:schedule/overrides/:override/', 'schedule:read', overrides.retrieveOverride),
  del('/api/o/:org/p/:prj/schedules/:schedule/overrides/:override/', 'schedule:override', overrides.endOverride),
  post('/api/o/:org/p/:prj/schedules/:schedule/page/', 'schedule:page', onCall.pageSchedule),
  get('/api/o/:org/p/:prj/schedules/:schedule/calendar/', 'schedule:read', feeds.retrieveCalendar),
  post('/api/o/:org/p/:prj/schedules/:schedule/calendar/rotate/', 'schedule:write', feeds.rotateCalendar),
  get('/api/o/:org/u/:username/calendar/', 'schedule:read', feeds.retrieveUserCalendar),
  post('/api/o/:org/u/:username/calendar/rotate/', 'user:write', feeds.rotateUserCalendar),
  get('/api/o/:org/on-call/', 'schedule:read', onCall.listOnCall),
  get('/api/o/:org/on-call/gaps/', 'schedule:read', onCall.listGaps),
  get('/api/o/:org/on-call/report/', 'schedule:read', report.retrieveOnCallReport),
  get('/api/o/:org/on-call/report/export/', 'schedule:read', report.exportOnCallReport),
  get('/api/o/:org/u/:username/test-page/', 'user:read', testPages.retrieveTestPage),
  post('/api/o/:org/u/:username/test-page/', 'schedule:override', testPages.sendTestPage),

  // The user of the signed-in account, and no one else: members need no further permission
  get('/api/o/:org/me/', 'account', me.retrieveMe),
  post('/api/o/:org/me/push/', 'account', me.registerOwnBrowser),
  post('/api/o/:org/me/push/unregister/', 'account', me.unregisterOwnBrowser),
  post('/api/o/:org/me/push/test/', 'account', me.testOwnBrowser),

  // Webhooks
  ...entryRoutes('/api/o/:org/webhooks/', 'webhook', 'webhook', webhooks.entry),
  post('/api/o/:org/webhooks/:webhook/enable/', 'webhook:write', webhooks.enableWebhook),
  post('/api/o/:org/webhooks/:webhook/rotate/', 'webhook:write', webhooks.rotateWebhookSecret),
  post('/api/o/:org/webhooks/:webhook/test/', 'webhook:write', webhooks.testWebhook),
  get('/api/o/:org/webhooks/:webhook/messages/', 'webhook:read', webhooks.listWebhookMessages),
  get('/api/o/:org/webhooks/:webhook/messages/:hook_message/', 'webhook:read', webhooks.retrieveWebhookMessage),
  post('/api/o/:org/webhooks/:webhook/messages/:hook_message/resend/', 'webhook:write', webhooks.resendWebhookMessage),

  // Statistics
  get('/api/o/:org/stats/', 'occurrence:read', stats.retrieveStatistics),
  get('/api/o/:org/p/:prj/a/:app/stats/', 'occurrence:read', stats.listEventStatistics),

  // Configuration as a document
  get('/api/o/:org/configuration/', 'configuration:read', configuration.exportConfiguration),
  post('/api/o/:org/configuration/apply/', 'configuration:write', configuration.applyConfiguration),
  post('/api/o/:org/configuration/plan/', 'configuration:read', configuration.planConfiguration),
  post('/api/o/:org/configuration/gaps/', 'configuration:read', configuration.listPlannedGaps),

  // Keys
  get('/api/o/:org/k/', 'key:read', keys.listKeys),
  post('/api/o/:org/k/', 'key:write', keys.createKey),
  post('/api/o/:org/k/revoke/', 'key:write', keys.revokeKey),
  get('/api/o/:org/k/:key/', 'key:read', keys.retrieveKey),
  patch('/api/o/:org/k/:key/', 'key:write', keys.updateKey),
  del('/api/o/:org/k/:key/', 'key:write', keys.deleteKey),
  post('/api/o/:org/k/:key/pause/', 'key:write', pausing.pauseKey),
  post('/api/o/:org/k/:key/resume/', 'key:write', pausing.resumeKey),
  post('/api/o/:org/k/:key/rotate/', 'key:write', keys.rotateKey),

  // Accounts and invites
  get('/api/invite/:token/', 'public', invites.retrieveInvite),
  post('/api/invite/:token/', 'public', invites.acceptInvite),
  get('/api/o/:org/account/', 'account:read', accounts.listAccounts),
  patch('/api/o/:org/account/:account/', 'account:write', accounts.updateAccount),
  del('/api/o/:org/account/:account/', 'account:write', accounts.removeAccount),
  del('/api/o/:org/account/:account/identity/', 'account:write', accounts.unlinkAccount),
  get('/api/o/:org/invite/', 'account:read', invites.listInvites),
  post('/api/o/:org/invite/', 'account:write', invites.createInvite),
  del('/api/o/:org/invite/:invite/', 'account:write', invites.withdrawInvite),

  // Audit log
  get('/api/o/:org/audit/', 'audit:read', audit.listAudit),
  get('/api/o/:org/audit/export/', 'audit:read', audit.exportAudit),

  // Signing in
  post('/api/password-reset/', 'public', passwordResets.requestPasswordReset),
  get('/api/password-reset/:token/', 'public', passwordResets.retrievePasswordReset),
  post('/api/password-reset/:token/', 'public', passwordResets.resetPassword),
  get('/api/session/', 'account', sessions.retrieveSession),
  post('/api/session/', 'public', sessions.signIn),
  patch('/api/session/', 'account', sessions.updateSession),
  del('/api/session/', 'account', sessions.signOut),
  post('/api/session/confirm/', 'account', sessions.confirmSession),
  get('/api/session/oidc/', 'public', oidc.beginOidc),
  get('/api/session/oidc/callback/', 'public', oidc.finishOidc),
  get('/api/session/options/', 'public', sessions.listSessionOptions),
  post('/api/session/passkey/', 'public', sessions.signInWithPasskey),
  post('/api/session/passkey/options/', 'public', sessions.beginPasskeySignIn),
  post('/api/session/password/', 'account', sessions.changePassword),
  post('/api/session/second-factor/', 'public', sessions.finishSignIn),
  get('/api/sessions/', 'account', sessions.listSessions),
  del('/api/sessions/', 'account', sessions.endOtherSessions),
  del('/api/sessions/:session/', 'account', sessions.endSession),

  // Second factors
  post('/api/session/passkeys/', 'account', twoFactor.addPasskey),
  post('/api/session/passkeys/options/', 'account', twoFactor.beginPasskey),
  patch('/api/session/passkeys/:passkey/', 'account', twoFactor.updatePasskey),
  del('/api/session/passkeys/:passkey/', 'account', twoFactor.removePasskey),
  post('/api/session/recovery-codes/', 'account', twoFactor.renewRecoveryCodes),
  post('/api/session/totp/', 'account', twoFactor.beginTotp),
  del('/api/session/totp/', 'account', twoFactor.removeTotp),
  post('/api/session/totp/confirm/', 'account', twoFactor.confirmTotp),
  get('/api/session/two-factor/', 'account', twoFactor.retrieveTwoFactor),
];
