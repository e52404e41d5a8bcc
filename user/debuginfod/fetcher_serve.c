// SPDX-License-Identifier: BSD-2-Clause
/*
 * libcurl does the speaking: HTTP and HTTPS alone, no other protocol by a redirection either, no netrc, no cookies. It is
 * loaded here and nowhere else, when the first file is asked for: with its dependencies it is some thirty libraries, which no
 * other command has to load, and which never are in a process that has privileges.
 *
 * Rejected: libdebuginfod, which is made of it. It writes a cache in a home folder, takes its limits from the
 * environment, waits 90 s by default, and gives back files of its own.
 */
#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION /* what takes their place is of 7.85, which is newer than some systems */
#include "debuginfod/fetcher_serve.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "debuginfod/fetching.h"
#include "sandbox/transfer.h"

#define MAX_REDIRECTS 5L
#define HTTP_OK	      200
#define HTTP_CLIENT   400 /* errors from there on; 404 is one */
#define HTTP_SERVER   500

/* What is used of libcurl. */
struct curl {
	__typeof__(&curl_easy_init) init;
	__typeof__(&curl_easy_setopt) set;
	__typeof__(&curl_easy_perform) perform;
	__typeof__(&curl_easy_getinfo) get;
	__typeof__(&curl_easy_strerror) error;
	CURL *easy; /* NULL: it is not there */
};

struct download {
	int fd;
	uint64_t len_bytes;
};

static bool load(struct curl *curl)
{
	void *library = dlopen("libcurl.so.4", RTLD_NOW);

	if (!library)
		return false;
	curl->init = (__typeof__(curl->init))dlsym(library, "curl_easy_init");
	curl->set = (__typeof__(curl->set))dlsym(library, "curl_easy_setopt");
	curl->perform = (__typeof__(curl->perform))dlsym(library, "curl_easy_perform");
	curl->get = (__typeof__(curl->get))dlsym(library, "curl_easy_getinfo");
	curl->error = (__typeof__(curl->error))dlsym(library, "curl_easy_strerror");
	if (curl->init && curl->set && curl->perform && curl->get && curl->error)
		curl->easy = curl->init();
	return curl->easy;
}

static size_t write_part(char *bytes, size_t size, size_t nr, void *ctx)
{
	struct download *download = ctx;
	size_t len = size * nr, done = 0;

	if (len > FETCHING_MAX_BYTES - download->len_bytes)
		return 0;
	while (done < len) {
		ssize_t wrote = write(download->fd, bytes + done, len - done);

		if (wrote <= 0)
			return 0;
		done += (size_t)wrote;
	}
	download->len_bytes += len;
	return len;
}

static void set_up(const struct curl *curl, const struct fetching_request *request,
		   struct download *download)
{
	curl->set(curl->easy, CURLOPT_URL, request->url);
	curl->set(curl->easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	curl->set(curl->easy, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	curl->set(curl->easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl->set(curl->easy, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
	curl->set(curl->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	curl->set(curl->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)FETCHING_MAX_BYTES);
	curl->set(curl->easy, CURLOPT_FAILONERROR, 1L);
	curl->set(curl->easy, CURLOPT_NOSIGNAL, 1L);
	curl->set(curl->easy, CURLOPT_ACCEPT_ENCODING, "");
	curl->set(curl->easy, CURLOPT_USERAGENT, "cprof");
	curl->set(curl->easy, CURLOPT_WRITEFUNCTION, write_part);
	curl->set(curl->easy, CURLOPT_WRITEDATA, download);
}

static void fetch(struct curl *curl, const struct fetching_request *request, int fd,
		  struct fetching_reply *reply)
{
	struct download download = {.fd = fd};
	const char *why = "libcurl.so.4 cannot be loaded";
	long status = 0;
	CURLcode code;

	reply->result = FETCHING_FAILED;
	if (curl->easy || load(curl)) {
		set_up(curl, request, &download);
		code = curl->perform(curl->easy);
		curl->get(curl->easy, CURLINFO_RESPONSE_CODE, &status);
		reply->len_bytes = download.len_bytes;
		why = code == CURLE_WRITE_ERROR ? "the file is too large, or the disk is full"
						: curl->error(code);
		if (code == CURLE_OK && status == HTTP_OK && download.len_bytes)
			reply->result = FETCHING_DONE;
		else if (status >= HTTP_CLIENT && status < HTTP_SERVER)
			reply->result = FETCHING_NOT_THERE;
		else if (code == CURLE_OK)
			why = "the answer is empty";
	}
	snprintf(reply->why, sizeof(reply->why), "%s", why);
}

void fetcher_serve(int socket)
{
	struct fetching_request request;
	struct curl curl = {0};

	for (;;) {
		struct message head, answer;
		struct fetching_reply reply = {0};
		int fd scoped(closep) = -1;

		if (transfer_receive(socket, &head, sizeof(head), &fd, NULL) ||
		    head.len_bytes != sizeof(request) ||
		    transfer_receive(socket, &request, sizeof(request), NULL, NULL))
			return;
		request.url[sizeof(request.url) - 1] = '\0';
		fetch(&curl, &request, fd, &reply);
		answer = (struct message){.kind = head.kind,
					  .key = head.key,
					  .serial = head.serial,
					  .len_bytes = sizeof(reply)};
		if (transfer_send(socket, &answer, &reply, -1, NULL))
			return;
	}
}
