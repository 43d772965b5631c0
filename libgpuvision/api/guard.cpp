// SPDX-License-Identifier: BSD-2-Clause
#include "api/guard.hpp"

namespace gpv {

gpv_status failed(Context *context) noexcept {
    const auto fail = [context](Status status, const char *text) {
        if (context)
            context->fail(status, text);
        return static_cast<gpv_status>(status);
    };
    try {
        throw;
    } catch (const Error &error) {
        return fail(error.status(), error.what());
    } catch (const std::bad_alloc &) {
        return fail(Status::out_of_memory, "out of memory");
    } catch (const std::exception &error) {
        return fail(Status::internal, error.what());
    } catch (...) {
        return fail(Status::internal, "unknown exception");
    }
}

} // namespace gpv
