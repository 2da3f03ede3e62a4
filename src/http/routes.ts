/** The whole API: every route with its permission, as the noun's file beside this one writes it down. */
import { accountRoutes } from './accounts.ts';
import { auditRoutes } from './audit.ts';
import { categoryRoutes } from './categories.ts';
import { singleChannelRoutes } from './channels.ts';
import { configurationRoutes } from './configuration.ts';
import { deletionRoutes } from './deletion.ts';
import { deliveryRoutes } from './deliveries.ts';
import { distributionListRoutes } from './distribution-lists.ts';
import { eventRoutes } from './events.ts';
import { holdingRoutes } from './holds.ts';
import { inboxRoutes } from './inbox.ts';
import { instanceRoutes } from './instance.ts';
import { inviteRoutes } from './invites.ts';
import { keyRoutes } from './keys.ts';
import { layoutRoutes } from './layouts.ts';
import { limitRoutes } from './limits.ts';
import { listFileRoutes } from './list-files.ts';
import { messageRoutes } from './messages.ts';
import { notificationRoutes } from './notifications.ts';
import { occurrenceRoutes } from './occurrences.ts';
import { oidcRoutes } from './oidc.ts';
import { organizationRoutes } from './organizations.ts';
import { passwordResetRoutes } from './password-resets.ts';
import { pingRoutes } from './ping.ts';
import { placeRoutes } from './places.ts';
import { preferenceRoutes } from './preferences.ts';
import { previewRoutes } from './preview.ts';
import { recipientTokenRoutes } from './recipient-tokens.ts';
import type { Route } from './route.ts';
import { sessionRoutes } from './sessions.ts';
import { simulationRoutes } from './simulation.ts';
import { statsRoutes } from './stats.ts';
import { twoFactorRoutes } from './two-factor.ts';
import { userRoutes } from './users.ts';
import { whyRoutes } from './why.ts';

export const routes: readonly Route[] = [
  ...pingRoutes,
  ...sessionRoutes,
  ...twoFactorRoutes,
  ...passwordResetRoutes,
  ...oidcRoutes,
  ...inviteRoutes,
  ...instanceRoutes,
  ...organizationRoutes,
  ...limitRoutes,
  ...placeRoutes,
  ...singleChannelRoutes,
  ...userRoutes,
  ...inboxRoutes,
  ...categoryRoutes,
  ...preferenceRoutes,
  ...recipientTokenRoutes,
  ...eventRoutes,
  ...notificationRoutes,
  ...previewRoutes,
  ...layoutRoutes,
  ...simulationRoutes,
  ...occurrenceRoutes,
  ...messageRoutes,
  ...deliveryRoutes,
  ...whyRoutes,
  ...statsRoutes,
  ...holdingRoutes,
  ...listFileRoutes,
  ...distributionListRoutes,
  ...keyRoutes,
  ...deletionRoutes,
  ...configurationRoutes,
  ...accountRoutes,
  ...auditRoutes,
];
