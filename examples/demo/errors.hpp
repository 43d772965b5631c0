// SPDX-License-Identifier: BSD-2-Clause
// What the messages of a pipeline mean to its user.
#pragma once

#include "gstreamer.hpp"

#include <string>

// Of a message for which gst_is_missing_plugin_message() is true.
std::string describe_missing(GstMessage *message);

// missing: what such a message has said before, or "".
std::string describe_error(GstMessage *message, const std::string &missing);
