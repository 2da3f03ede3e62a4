/** Devices of a user that get push notifications: browsers and apps, each stored as an address. */

import { type Device, deviceAddressName, writeDevice } from '../../core/audience/device.ts';
import { AppError } from '../../core/errors.ts';
import { listSameAddresses, listWholeAddresses } from '../../db/audience/addresses.ts';
import type { Deps } from '../deps.ts';
import { liftGone } from './suppressions.ts';
import { addAddress, deleteAddress, setAddressEnabled } from './users.ts';

interface DeviceOwner {
  id: number;
  username: string;
}

interface DeviceAddress {
  name: string;
  value: string;
}

/** Maximum number of devices per user and kind. Expired ones are disabled when the push service reports them. */
const maxDevices = 20;

export function registerDevice(deps: Deps, organizationId: number, user: DeviceOwner, device: Device) {
  return moveDeviceAddress(deps, organizationId, user, { name: deviceAddressName, value: writeDevice(device) });
}

/** A device has one user: the previous one may have signed out without a connection. */
export async function moveDeviceAddress(
  deps: Deps,
  organizationId: number,
  user: DeviceOwner,
  address: DeviceAddress,
): Promise<void> {
  await addDeviceAddress(deps, organizationId, user, address);
  for (const { user_id, username, ...other } of await listSameAddresses(deps.db, organizationId, user.id, address)) {
    const holder = { id: user_id, username };
    await deleteAddress(deps, organizationId, holder, other, { cascade: true, dryRun: false });
  }
}

export function unregisterDevice(deps: Deps, organizationId: number, user: DeviceOwner, device: Device) {
  return removeDeviceAddress(deps, organizationId, user, { name: deviceAddressName, value: writeDevice(device) });
}

/** Removing an unknown device changes nothing. */
export async function removeDeviceAddress(
  deps: Deps,
  organizationId: number,
  user: DeviceOwner,
  { name, value }: DeviceAddress,
): Promise<void> {
  const found = (await listDeviceAddresses(deps, organizationId, user, name)).find(address => address.value === value);
  if (found) await deleteAddress(deps, organizationId, user, found, { cascade: true, dryRun: false });
}

/** Adds an address unless the user has it. One that was disabled is enabled again: the device has just registered. */
export async function addDeviceAddress(
  deps: Deps,
  organizationId: number,
  user: DeviceOwner,
  { name, value }: DeviceAddress,
): Promise<void> {
  const registered = await listDeviceAddresses(deps, organizationId, user, name);
  const found = registered.find(address => address.value === value);
  await liftGone(deps, organizationId, name, value);
  if (found?.disabled_at) await setAddressEnabled(deps, organizationId, user, found.id, true);
  if (found) return;
  if (registered.length >= maxDevices) {
    throw new AppError('push.limit', `a user may register ${maxDevices} devices: delete a ${name} address of the user`);
  }
  await addAddress(deps, organizationId, user, { name, value });
}

export async function listDeviceAddresses({ db }: Deps, organizationId: number, { id }: DeviceOwner, name: string) {
  const all = await listWholeAddresses(db, organizationId, id, { after: 0, limit: 1_000 });
  return all.filter(address => address.name === name);
}
