/** Sharing of an account: links, shares with other accounts, and file requests. */
import { fingerprintText } from '@szafa/format';
import type { CallOptions } from '../call.ts';
import { AccountFiles } from '../files/account-files.ts';
import type { ReceivedShare } from './account-shares.ts';
import type { Contact, Contacts } from './contacts.ts';
import type { Delivery, TakeOverOptions } from './deliveries.ts';
import type { Link, LinkOptions, OwnLink, ShareItem, ShareOptions } from './links.ts';
import type { FileRequest, OwnRequest, RequestOptions } from './requests.ts';

/** Loads sharing on first use, so that the web page starts with less code. */
const sharing = () => import('./sharing.ts');

/** The part of `Szafa` that concerns sharing. */
export class AccountSharing extends AccountFiles {
  #contacts: Contacts | undefined;

  /**
   * Creates a link that opens the current versions of these files without an account. Anyone who has the link can open them.
   * @throws ConflictError if a file is gone
   */
  async shareLink(items: readonly ShareItem[], options?: LinkOptions): Promise<Link> {
    return (await sharing()).makeLink(this.context, items, options);
  }

  /** Lists the links and shares of this account, latest first. Ended ones stay in the list for a month. */
  async links(options?: CallOptions): Promise<OwnLink[]> {
    return (await sharing()).listLinks(this.context, options?.signal);
  }

  /** Ends a link or share. Calling it for an ended one removes it from the list. */
  async endShare(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endShare', { params: { share_id: id }, ...options });
  }

  /**
   * Shares the current versions of these files with another account of this server. On first contact, the keys that the server returns
   * for that name are trusted and pinned: compare fingerprints to be sure.
   * @returns the id of the share
   * @throws ContactChangedError if the account has different keys than before
   */
  async shareWith(username: string, items: readonly ShareItem[], options?: ShareOptions): Promise<string> {
    const context = { ...this.context, contacts: await this.#loadContacts() };
    return (await sharing()).shareWith(context, username, items, options);
  }

  /** Lists shares that this account has received, latest first. */
  async sharedWithMe(options?: CallOptions): Promise<ReceivedShare[]> {
    const context = { ...this.context, contacts: await this.#loadContacts() };
    return (await sharing()).listReceived(context, options?.signal);
  }

  /** Removes a received share, which ends it. */
  async endReceived(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endReceived', { params: { share_id: id }, ...options });
  }

  async #loadContacts(): Promise<Contacts> {
    const { Contacts } = await sharing();
    this.#contacts ??= new Contacts(this.context, this.options.contacts);
    return this.#contacts;
  }

  /** Returns the fingerprint of this account, which others can compare. */
  async fingerprint(options?: CallOptions): Promise<string> {
    return fingerprintText(await this.keys.identity(options?.signal));
  }

  /**
   * Fetches the keys of another account, to compare their fingerprint.
   * @throws ContactChangedError if they differ from the pinned ones
   */
  async contact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).show(username, options?.signal);
  }

  /** Returns the pinned keys of another account without a request; undefined if none are pinned. */
  async rememberedContact(username: string): Promise<Contact | undefined> {
    return (await this.#loadContacts()).remembered(username);
  }

  /** Marks the keys of a contact as compared with their owner. */
  async verifyContact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).verify(username, options?.signal);
  }

  /**
   * Pins the new keys of a contact.
   * @param fingerprint as read out by the owner of the account
   * @throws SzafaError if the server returns keys with another fingerprint
   */
  async acceptContact(username: string, fingerprint: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).accept(username, fingerprint, options?.signal);
  }

  /** Creates a file request: a link through which others upload into a folder of this account. */
  async requestLink(options: RequestOptions): Promise<FileRequest> {
    return (await sharing()).makeRequest(this.context, options);
  }

  /** Lists the file requests of this account, latest first. Ended ones stay in the list for a month. */
  async requests(options?: CallOptions): Promise<OwnRequest[]> {
    return (await sharing()).listRequests(this.context, options?.signal);
  }

  /** Ends a file request; delivered files stay. Calling it for an ended one removes it from the list. */
  async endRequest(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endRequest', { params: { request_id: id }, ...options });
  }

  /** Lists delivered files that were not accepted yet. Lists of files and trees do not contain them. */
  async deliveries(options?: CallOptions): Promise<Delivery[]> {
    return (await sharing()).listDeliveries(this.context, options?.signal);
  }

  /**
   * Turns a delivery into a file of this account.
   * @param options.folder the target folder; the folder of its request by default
   * @returns the path of the file
   * @throws ConflictError if the delivery is gone
   */
  async takeOver(delivery: Delivery, options?: TakeOverOptions): Promise<string> {
    return (await sharing()).takeOver(this.context, delivery, options);
  }

  /** Lists the ids in the headers of all files. Pass them to `takeOver` when accepting several deliveries. */
  async sealedIds(options?: CallOptions): Promise<Set<string>> {
    return (await sharing()).listSealedIds(this.context, options?.signal);
  }

  /**
   * Permanently deletes a delivery.
   * @throws ConflictError if it is no longer a delivery
   */
  async dropDelivery(delivery: Delivery, options?: CallOptions): Promise<void> {
    return (await sharing()).dropDelivery(this.context, delivery, options?.signal);
  }
}
