/**
 * SQL text: the organizations that this cell does not send for, because they are arriving from another cell, moving to one,
 * or have left. Every statement that claims work to send excludes them, so at most one cell sends for an organization:
 * see docs/architecture.md.
 */
export const stoppedText = `array(
  select organization_id from organization_moves where state not in ('copying', 'arrived'))`;
